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
            for name in ["{version}", "{scope}", "{scope_list}", "{image}", "{cmake}", "{end}"] {
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
fn a_project_below_the_root_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs_err::create_dir_all(root.join(".git")).unwrap();
    fs_err::create_dir_all(root.join("gpu/kernels")).unwrap();
    let text = |name: &str| {
        let planned = plan(&all(), &root.join("gpu/kernels")).unwrap();
        planned.into_iter().find(|planned| planned.path.ends_with(name)).unwrap().text
    };
    fs_err::write(root.join("gpu/lmem.toml"), "").unwrap();
    assert!(text("lmem.yml").contains("cargo-lmem lmem gpu $AGAINST"), "{}", text("lmem.yml"));
    assert!(text("lmem.yml").contains("cargo-lmem lmem diff HEAD^ gpu --output"));
    assert!(text("tasks.json").contains(r#""args": ["lmem", "gpu", "--message-format""#));
    fs_err::rename(root.join("gpu/lmem.toml"), root.join("gpu/Cargo.toml")).unwrap();
    assert!(
        text(".pre-commit-config.yaml").contains("lmem --workspace --manifest-path gpu/Cargo.toml --quiet --staged")
    );
    // A workspace around it checks all.
    fs_err::write(root.join("Cargo.toml"), "").unwrap();
    assert!(text("lmem.yml").contains("cargo-lmem lmem --workspace $AGAINST"));
}

#[test]
fn cmake_is_asked_for_flags_where_it_builds() {
    let folder = tempfile::tempdir().unwrap();
    let has = |text: &str| plan(&all(), folder.path()).unwrap().iter().filter(|it| it.text.contains(text)).count();
    fs_err::write(folder.path().join("lmem.toml"), "").unwrap();
    assert_eq!(has("CMAKE_EXPORT_COMPILE_COMMANDS"), 0);
    fs_err::write(folder.path().join("CMakeLists.txt"), "").unwrap();
    assert_eq!(has("CMAKE_EXPORT_COMPILE_COMMANDS"), 2);
    // Where cargo builds, it is a build script that runs CMake, if anything.
    fs_err::rename(folder.path().join("lmem.toml"), folder.path().join("Cargo.toml")).unwrap();
    assert_eq!(has("CMAKE_EXPORT_COMPILE_COMMANDS"), 0);
}

#[test]
fn what_is_there_stays_unless_somebody_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let planned = plan(
        &InitArgs { gitlab: false, pre_commit: false, rust_analyzer: false, vscode: false, ..all() },
        folder.path(),
    );
    let planned = planned.unwrap().remove(0);
    let write = |may| write(&planned, &mut |_| may).unwrap();
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
    let refused = write(&planned, &mut |_| true);
    assert!(matches!(refused, Err(InitError::Outside { .. })), "{refused:?}");
    assert!(fs_err::read_dir(elsewhere.path()).unwrap().next().is_none());
}

#[test]
fn a_hook_stays_in_its_repository() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").current_dir(folder.path()).args(arguments).status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    let arguments = InitArgs {
        github: false,
        gitlab: false,
        pre_commit: false,
        rust_analyzer: false,
        vscode: false,
        git_hook: true,
        ..all()
    };
    let hook = || plan(&arguments, folder.path()).unwrap().remove(0);
    assert_eq!(write(&hook(), &mut |_| false).unwrap(), Fate::Written);
    assert!(folder.path().join(".git/hooks/pre-commit").is_file());
    git(&["config", "core.hooksPath", ".husky"]);
    assert_eq!(write(&hook(), &mut |_| false).unwrap(), Fate::Written);
    assert!(folder.path().join(".husky/pre-commit").is_file());
    git(&["config", "core.hooksPath", elsewhere.path().to_str().unwrap()]);
    assert!(matches!(write(&hook(), &mut |_| true), Err(InitError::Outside { .. })));
    assert!(!elsewhere.path().join("pre-commit").exists());
}

#[test]
fn a_project_that_cannot_be_looked_at_gets_no_files() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("Cargo.toml"), "[package]\nname = \"a\"\n").unwrap();
    let settings = folder.path().join("lmem.toml");
    std::os::unix::fs::symlink(&settings, &settings).unwrap();
    assert!(matches!(plan(&all(), folder.path()), Err(InitError::Unknown { .. })));
    fs_err::remove_file(&settings).unwrap();
    assert!(plan(&all(), folder.path()).is_ok());
}
