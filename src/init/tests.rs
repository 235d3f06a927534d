use super::*;

fn all() -> InitArgs {
    InitArgs {
        github: true,
        gitlab: true,
        pre_commit: true,
        git_hook: false,
        rust_analyzer: true,
        vscode: true,
        force: false,
        dry_run: false,
    }
}

#[test]
fn files_belong_to_the_root_of_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::create_dir_all(folder.path().join("gpu/.git")).unwrap();
    fs_err::create_dir_all(folder.path().join("gpu/kernels")).unwrap();
    let planned = plan(&all(), &folder.path().join("gpu/kernels")).unwrap();
    assert_eq!(planned.len(), 6);
    assert!(planned.iter().all(|planned| planned.path.starts_with(folder.path().join("gpu"))));
    assert!(planned.iter().all(|planned| !planned.path.starts_with(folder.path().join("gpu/kernels"))));
}

#[test]
fn nothing_is_left_to_be_filled_in() {
    let folder = tempfile::tempdir().unwrap();
    for manifest in ["lmem.toml", "Cargo.toml"] {
        for planned in plan(&all(), folder.path()).unwrap() {
            let text = planned.text.replace("${{", "").replace("${workspaceFolder}", "");
            for name in ["{version}", "{scope}", "{scope_list}", "{image}"] {
                assert!(!text.contains(name), "{}", planned.path.display());
            }
            let has_packages = planned.text.contains("--workspace");
            assert!(!has_packages || folder.path().join("Cargo.toml").is_file(), "{}", planned.path.display());
        }
        fs_err::remove_file(folder.path().join("lmem.toml")).ok();
        fs_err::write(folder.path().join(manifest), "").unwrap();
    }
}

#[test]
fn what_is_there_stays_unless_somebody_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let planned = plan(
        &InitArgs { gitlab: false, pre_commit: false, rust_analyzer: false, vscode: false, ..all() },
        folder.path(),
    );
    let planned = planned.unwrap().remove(0);
    let write = |may| write(&planned, folder.path(), &mut |_| may).unwrap();
    assert_eq!(write(false), Fate::Written);
    assert_eq!(write(false), Fate::Same);
    fs_err::write(&planned.path, "mine").unwrap();
    assert_eq!(write(false), Fate::Kept);
    assert_eq!(fs_err::read_to_string(&planned.path).unwrap(), "mine");
    assert_eq!(write(true), Fate::Written);
    assert_eq!(fs_err::read_to_string(&planned.path).unwrap(), planned.text);
}

#[test]
fn links_lead_nowhere() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join(".github")).unwrap();
    let planned = plan(&all(), folder.path()).unwrap().remove(0);
    let refused = write(&planned, folder.path(), &mut |_| true);
    assert!(matches!(refused, Err(InitError::Outside { .. })), "{refused:?}");
    assert!(!elsewhere.path().join("workflows/lmem.yml").exists());
}
