use tempfile::TempDir;

use super::*;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    folder
}

fn scope(folder: &Path, paths: &[&str]) -> Scope {
    Scope {
        paths: paths.iter().map(PathBuf::from).collect(),
        current_folder: fs_err::canonicalize(folder).unwrap(),
        ..Scope::default()
    }
}

fn names(workspace: &Workspace) -> Vec<String> {
    workspace.files.iter().map(|file| display_path(&file.path, &workspace.root)).collect()
}

fn manifest(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
}

#[test]
fn probes_of_compilers_are_not_sources() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs_err::canonicalize(folder.path()).unwrap();
    for path in [
        "lmem.toml",
        "a.cu",
        "build/CMakeFiles/4.4.4/CompilerIdCUDA/id.cu",
        "build/meson-private/sanity.cu",
        "build/gen.cu",
    ] {
        fs_err::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs_err::write(root.join(path), "").unwrap();
    }
    let workspace = discover(&Scope { current_folder: root.clone(), ..Scope::default() }).unwrap();
    let names: Vec<String> = workspace.files.iter().map(|file| display_path(&file.path, &root)).collect();
    assert_eq!(names, ["a.cu", "build/gen.cu"]);
    // A probe that is named is checked all the same.
    let paths = vec!["build/meson-private".into()];
    let named = discover(&Scope { current_folder: root, paths, ..Scope::default() }).unwrap();
    assert_eq!(named.files.len(), 1);
}

#[test]
fn a_package_is_walked_without_what_is_not_its_own() {
    let folder = tree(&[
        ("Cargo.toml", &manifest("one")),
        ("src/lib.rs", ""),
        ("src/target/mod.rs", ""),
        ("kernels/a.cu", ""),
        ("kernels/a.cuh", ""),
        ("target/debug/b.cu", ""),
        (".hidden/c.cu", ""),
        ("nested/Cargo.toml", &manifest("two")),
        ("nested/src/lib.rs", ""),
        ("nested/d.cu", ""),
        ("cutlass/.git", "gitdir: x"),
        ("cutlass/e.cu", ""),
        ("cache/CACHEDIR.TAG", ""),
        ("cache/f.cu", ""),
    ]);
    let workspace = discover(&scope(folder.path(), &[])).unwrap();
    assert_eq!(names(&workspace), ["kernels/a.cu", "src/lib.rs", "src/target/mod.rs"]);
    assert!(workspace.left_out[0].contains("nested` is no member of the workspace and is not checked"));
    assert_eq!(workspace.left_out.len(), 1);
    let submodule = NotChecked { why: Unchecked::Submodule, path: workspace.root.join("cutlass") };
    assert_eq!(workspace.not_checked, [submodule]);
    assert_eq!(workspace.packages[0].name, "one");
    assert_eq!(workspace.packages[0].targets[0].name, "one");
}

fn virtual_workspace(more: &str) -> TempDir {
    tree(&[
        ("Cargo.toml", &format!("[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\"]\n{more}")),
        ("crates/red/Cargo.toml", &manifest("red")),
        ("crates/red/src/lib.rs", ""),
        ("crates/blue/Cargo.toml", &manifest("blue")),
        ("crates/blue/src/lib.rs", ""),
        ("loose/x.cu", ""),
    ])
}

#[test]
fn packages_are_selected_as_cargo_does() {
    let folder = virtual_workspace("default-members = [\"crates/red\"]\n");
    let selected = |change: &dyn Fn(&mut Scope)| {
        let mut scope = scope(folder.path(), &[]);
        change(&mut scope);
        discover(&scope)
            .map(|workspace| workspace.packages.iter().map(|package| package.name.clone()).collect::<Vec<_>>())
    };
    assert_eq!(selected(&|_| {}).unwrap(), ["red"]);
    assert_eq!(selected(&|scope| scope.workspace = true).unwrap().len(), 2);
    assert_eq!(selected(&|scope| scope.packages = vec!["b*".into()]).unwrap(), ["blue"]);
    assert_eq!(selected(&|scope| scope.current_folder.push("crates/blue/src")).unwrap(), ["blue"]);
    assert_eq!(selected(&|scope| scope.manifest_path = Some("crates/blue/Cargo.toml".into())).unwrap(), ["blue"]);
    let without_red = |scope: &mut Scope| (scope.workspace, scope.exclude) = (true, vec!["red".into()]);
    assert_eq!(selected(&without_red).unwrap(), ["blue"]);
    let error = selected(&|scope| scope.packages = vec!["bleu".into()]).unwrap_err();
    assert_eq!(error.to_string(), "the workspace has no package `bleu`: did you mean `blue`?");
    let folder = virtual_workspace("");
    assert_eq!(discover(&scope(folder.path(), &[])).unwrap().packages.len(), 2);
}

#[test]
fn paths_need_no_package() {
    let folder = tree(&[("a.cu", ""), ("sub/b.ptx", ""), ("sub/c.cu", ""), ("x.cuh", ""), ("x.txt", "")]);
    let workspace = discover(&scope(folder.path(), &["a.cu", "sub", "sub/b.ptx"])).unwrap();
    assert_eq!(names(&workspace), ["a.cu", "sub/b.ptx", "sub/c.cu"]);
    assert!(workspace.files[0].explicit && !workspace.files[2].explicit);
    let error = |path: &str| discover(&scope(folder.path(), &[path])).unwrap_err().to_string();
    assert!(error("none.cu").contains("there is no file or folder"));
    assert!(error("x.cuh").contains("name a `.cu` file that includes it"));
    assert!(error("x.txt").contains("only `.cu`, `.rs`, `.ptx`, `.cubin` and `.fatbin`"));
    assert!(discover(&scope(folder.path(), &[])).unwrap_err().to_string().contains("there is no `Cargo.toml`"));
}

#[test]
fn paths_in_packages_have_their_settings() {
    let settings = "[workspace.metadata.lmem]\narch = \"80\"\n";
    let folder = virtual_workspace(settings);
    let workspace = discover(&scope(folder.path(), &["."])).unwrap();
    assert_eq!(names(&workspace), ["crates/blue/src/lib.rs", "crates/red/src/lib.rs", "loose/x.cu"]);
    assert!(workspace.files.iter().all(|file| file.config.arch.len() == 1));
    assert_eq!(workspace.package_of(&workspace.files[0]).unwrap().name, "blue");
    assert!(workspace.files[2].package.is_none());
}

#[test]
fn a_broken_manifest_breaks_no_plain_path_but_broken_settings_do() {
    let folder = tree(&[("Cargo.toml", "nonsense"), ("a.cu", "")]);
    let workspace = discover(&scope(folder.path(), &["a.cu"])).unwrap();
    assert!(workspace.refused[0].message.contains("cannot be used"), "{:?}", workspace.refused);
    let broken = manifest("one") + "[package.metadata.lmem]\nach = 1\n";
    let folder = tree(&[("Cargo.toml", &broken), ("src/lib.rs", ""), ("a.cu", "")]);
    for paths in [&["a.cu"][..], &[]] {
        let error = discover(&scope(folder.path(), paths)).unwrap_err().to_string();
        assert!(error.contains("did you mean `arch`"), "{error}");
    }
}

#[test]
fn included_files_are_headers() {
    let folder = tree(&[
        ("k/main.cu", "#include \"impl.cu\"\n#include \"../common/deep.cu\"\n"),
        ("k/impl.cu", ""),
        ("k/up.cu", "#include \"common/above.cu\""),
        ("common/deep.cu", ""),
        ("common/above.cu", ""),
        ("common/by_header.cu", ""),
        ("common/x.cuh", "#include <by_header.cu>"),
        ("k/self.cu", "#include \"self.cu\""),
        ("k/ring_a.cu", "#include \"ring_b.cu\""),
        ("k/ring_b.cu", "#include \"ring_a.cu\""),
    ]);
    let workspace = discover(&scope(folder.path(), &["."])).unwrap();
    assert_eq!(names(&workspace), ["k/main.cu", "k/ring_a.cu", "k/self.cu", "k/up.cu"]);
    assert_eq!(workspace.notes.len(), 5);
    let workspace = discover(&scope(folder.path(), &[".", "k/impl.cu"])).unwrap();
    assert!(names(&workspace).contains(&"k/impl.cu".to_string()));
}

#[test]
fn files_elsewhere_are_those_of_their_folder() {
    let (folder, here) = (tree(&[("a/x.cu", ""), ("a/b/y.cu", ""), ("c/z.cu", "")]), tree(&[("w.cu", "")]));
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let root = |names: &[String]| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        discover(&scope(here.path(), &names)).unwrap().root
    };
    assert_eq!(root(&[at("a/x.cu")]), folder.path().join("a"));
    assert_eq!(root(&[at("a/b/y.cu"), at("a/x.cu")]), folder.path().join("a"));
    assert_eq!(root(&[at("a")]), folder.path().join("a"));
    // No named folder has both, and what is above them may be anything.
    assert_eq!(root(&[at("a/x.cu"), at("c/z.cu")]), here.path());
    assert_eq!(root(&[at("a/x.cu"), "w.cu".to_string()]), here.path());
    assert_eq!(root(&["w.cu".to_string()]), here.path());
}

#[test]
fn excluded_files_are_left_out_unless_named() {
    let settings = manifest("one") + "[package.metadata.lmem]\nexclude = [\"old\", \"**/gen_*.cu\"]\n";
    let folder =
        tree(&[("Cargo.toml", &settings), ("src/lib.rs", ""), ("old/a.cu", ""), ("k/gen_b.cu", ""), ("k/c.cu", "")]);
    assert_eq!(names(&discover(&scope(folder.path(), &[])).unwrap()), ["k/c.cu", "src/lib.rs"]);
    assert_eq!(names(&discover(&scope(folder.path(), &["k", "old/a.cu"])).unwrap()), ["k/c.cu", "old/a.cu"]);
}

#[test]
fn paths_that_a_shell_would_run_are_not_given_to_nvcc() {
    let folder = tree(&[("a.cu", ""), ("$(touch x).cu", ""), ("`d`/b.cu", "")]);
    let workspace = discover(&scope(folder.path(), &["."])).unwrap();
    assert_eq!(names(&workspace), ["a.cu"]);
    assert_eq!(workspace.refused.len(), 2);
    assert!(discover(&scope(folder.path(), &["$(touch x).cu"])).is_err());
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_workspace_only() {
    use std::os::unix::fs::symlink;
    let outside = tree(&[("secret.cu", "")]);
    let folder = virtual_workspace("");
    let red = folder.path().join("crates/red");
    symlink("../../loose", red.join("kernels")).unwrap();
    symlink(outside.path(), red.join("outside")).unwrap();
    symlink(".", red.join("loop")).unwrap();
    symlink("missing", red.join("broken.cu")).unwrap();
    symlink(outside.path().join("secret.cu"), red.join("linked.cu")).unwrap();
    symlink("/etc/hostname", red.join("named.cu")).unwrap();
    fs_err::create_dir(folder.path().join(".old")).unwrap();
    fs_err::write(folder.path().join(".old/y.cu"), "").unwrap();
    symlink("../../.old/y.cu", red.join("hidden.cu")).unwrap();
    symlink("kernels/x.cu", red.join("again.cu")).unwrap();
    fs_err::write(folder.path().join("loose/x.cuh"), "").unwrap();
    symlink("kernels/x.cuh", red.join("header.cu")).unwrap();
    symlink("../../.old", red.join("visible")).unwrap();
    let workspace = discover(&scope(folder.path(), &[])).unwrap();
    assert_eq!(names(&workspace), ["crates/blue/src/lib.rs", "crates/red/src/lib.rs", "loose/x.cu"]);
    assert_eq!(workspace.notes, ["`crates/red/outside` is a link that leads out of the workspace: not followed"]);
    let named = |unchecked: &NotChecked| (unchecked.why, display_path(&unchecked.path, &workspace.root));
    let not_checked: Vec<_> = workspace.not_checked.iter().map(named).collect();
    let expected = [
        (Unchecked::LeadsOut, "crates/red/linked.cu"),
        (Unchecked::LeadsNowhere, "crates/red/broken.cu"),
        (Unchecked::LeadsToOtherKind, "crates/red/header.cu"),
        (Unchecked::LeadsToOtherKind, "crates/red/named.cu"),
        (Unchecked::LeadsToLeftOut, "crates/red/hidden.cu"),
        (Unchecked::LeadsToLeftOut, "crates/red/visible"),
    ];
    assert_eq!(not_checked, expected.map(|(why, name)| (why, name.to_string())));
    assert!(workspace.may_read(&folder.path().join("loose/x.cu")));
    assert!(!workspace.may_read(&outside.path().join("secret.cu")));
    assert!(!workspace.may_read(Path::new("/dev/zero")));
}

#[test]
fn a_project_without_cargo_has_settings_of_its_own() {
    let folder = tree(&[
        ("lmem.toml", "arch = \"sm_90\"\nexclude = [\"third\"]\n[lints]\nregister_spill = \"deny\"\n"),
        ("src/a.cu", ""),
        ("third/b.cu", ""),
        ("tools/Cargo.toml", &manifest("tools")),
        ("tools/src/lib.rs", ""),
    ]);
    for (at, paths) in [("", &[][..]), ("src", &[]), ("", &["src"])] {
        let workspace = discover(&scope(&folder.path().join(at), paths)).unwrap();
        assert_eq!(workspace.root, fs_err::canonicalize(folder.path()).unwrap());
        assert!(
            names(&workspace).contains(&"src/a.cu".to_string()) && !names(&workspace).contains(&"third/b.cu".into())
        );
        let file = workspace.files.iter().find(|file| file.path.ends_with("a.cu")).unwrap();
        assert_eq!(file.config.arch.iter().map(ToString::to_string).collect::<Vec<_>>(), ["sm_90"]);
    }
    // A nearer manifest, or one named on the command line, takes precedence.
    assert_eq!(discover(&scope(&folder.path().join("tools"), &[])).unwrap().packages.len(), 1);
    for (text, expected) in [
        ("archs = 1", "`archs` in "),
        ("arch = ", "lmem.toml`: TOML parse error at line 1"),
        ("toolkit = \"./evil\"", "may not name programs"),
        ("[[file]]\narch = \"sm_80\"", "`file` in "),
    ] {
        fs_err::write(folder.path().join("lmem.toml"), text).unwrap();
        let error = discover(&scope(folder.path(), &[])).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
