//! Rust code that is reached under other names than those that the walk of a package finds.

use lmem_project::discover::Unchecked;

use super::{KERNEL, of_folder, of_package, tree, units};
use crate::Extraction;

const MANIFEST: &str = "[package]\nname = \"some-package\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

fn code() -> String {
    format!("pub fn f() {{ cudarc::nvrtc::compile_ptx(\"{KERNEL}\").unwrap(); }}")
}

/// `name: reason` of what is not checked.
fn not_checked(extraction: &Extraction) -> Vec<String> {
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    extraction.not_checked.iter().map(|found| format!("{}: {:?}", name(&found.path), found.why)).collect()
}

#[test]
fn code_in_folders_that_are_not_walked_is_checked() {
    let code = code();
    for (path, names) in [
        (".hidden/k.rs", "#[path = \"../.hidden/k.rs\"] mod k;"),
        ("src/k/mod.rs", "mod k;"),
        ("target/k.rs", "include!(\"../target/k.rs\");"),
        (".k.rs", "mod a { include!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/.k.rs\")); }"),
        (".a/b/k.rs", "#[path = \"../.a\"] mod a { mod b { mod k; } }"),
        (".a/b/k.rs", "#[cfg_attr(all(), path = \"../.a/c.rs\")] mod c;"),
    ] {
        let decoy = [("src/k/Cargo.toml", MANIFEST), (".a/c.rs", "mod b { #[path = \"k.rs\"] mod k; }")];
        let files = [[("src/lib.rs", names), (path, code.as_str())].as_slice(), &decoy].concat();
        // A file that a path names is as `mod.rs`.
        let found = of_package(&files);
        assert_eq!(units(&found), [format!("{path}:1: {}", KERNEL.replace('\\', ""))], "{names}");
        assert_eq!(not_checked(&found), [""; 0], "{names}");
    }
}

#[test]
fn kernels_in_included_texts_are_checked_whatever_takes_them() {
    let kernel = "extern \"C\" __global__ void f(float* a) { a[0] = 1; }\n";
    for (path, text) in [
        ("src/k.cuh", "fn f() { other::launch(include_str!(\"k.cuh\")); }"),
        ("src/k.txt", "pub const S: &str = include_str! ( r\"k.txt\" );"),
        ("kernels/k.inc", "pub use w::build; fn f() { build(include_bytes![\"../kernels/k.inc\"]); }"),
    ] {
        let found = of_package(&[("src/lib.rs", text), (path, kernel)]);
        assert_eq!(units(&found).len(), 1, "{text}");
        // A text without a kernel is no reason to look further.
        assert_eq!(units(&of_package(&[("src/lib.rs", text), (path, "__device__ int f();\n")])).len(), 0, "{text}");
    }
}

#[test]
fn targets_of_a_manifest_are_read() {
    let code = code();
    for (path, target) in
        [(".hidden/main.rs", "[[bin]]\nname = \"b\""), (".k.rs", "[lib]"), (".t.rs", "[[test]]\nname = \"t\"")]
    {
        let manifest = format!("{MANIFEST}{target}\npath = \"{path}\"\n");
        let files = tree(&[("Cargo.toml", &manifest), ("src/lib.rs", ""), (path, &code)]);
        for named in [&[][..], &["."]] {
            assert_eq!(units(&of_folder(&files, named)).len(), 1, "{path}");
        }
        // A file or folder that is named means itself alone.
        for named in ["src", "src/lib.rs"] {
            assert_eq!(units(&of_folder(&files, &[named])).len(), 0, "{path}");
        }
    }
}

#[test]
fn other_endings_are_named() {
    let code = code();
    for (path, names) in [
        ("src/k.txt", "#[path = \"k.txt\"] mod k;"),
        ("src/k.cuh", "include!(\"k.cuh\");"),
        ("src/k", "use core::include as inc; mod a { inc!(\"k\"); }"),
        ("src/k.inc", "#[path = \"a.txt\"] mod a;"),
        ("K.RS", "#[cfg_attr(unix, path = \"../K.RS\")] mod k;"),
        // The modules of what a path names lie beside it, also if it would be found without.
        ("src/q/d/k.txt", "#[path = \"q/b.rs\"] mod b;"),
        ("src/c/k.txt", "include!(\"c/a.rs\");"),
    ] {
        let found = of_package(&[
            ("src/lib.rs", names),
            (path, &code),
            ("src/a.txt", "include!(\"k.inc\"); include!(\"a.txt\");"),
            ("src/q/b.rs", "mod d { #[path = \"k.txt\"] mod e; }"),
            ("src/c/a.rs", "#[path = \"k.txt\"] mod e;"),
        ]);
        let name = path.rsplit('/').next().unwrap();
        assert_eq!(not_checked(&found), [format!("{name}: {:?}", Unchecked::OtherRustName)], "{names}");
    }
    let manifest = format!("{MANIFEST}[lib]\npath = \"k.txt\"\n");
    let files = tree(&[
        ("member/Cargo.toml", &manifest),
        ("member/k.txt", &code),
        ("a.rs", ""),
        ("b/Cargo.toml", "path = {{x}}"),
    ]);
    assert_eq!(not_checked(&of_folder(&files, &["."])), ["k.txt: OtherRustName"]);
    // Tables and generated code are included too.
    let found = of_package(&[
        ("src/lib.rs", "include!(\"t.in\"); include!(concat!(env!(\"OUT_DIR\"), \"/a.rs\"));"),
        ("src/t.in", "1"),
    ]);
    assert_eq!(not_checked(&found), [""; 0]);
}

#[test]
fn what_cannot_be_followed_is_named() {
    for (text, why) in [
        ("macro_rules! m { ($p:literal) => { include!($p); } } m!(\"k.txt\");", "lib.rs: Unfollowed"),
        ("include!(env!(\"KERNELS\"));", "lib.rs: Unfollowed"),
        ("macro_rules! i { ($m:ident, $f:literal) => { $m!($f); } } i!(include, \"k.txt\");", "lib.rs: Unfollowed"),
        ("include!(\"../../outside.rs\");", "outside.rs: RustElsewhere"),
        ("#[path = \"../../outside.rs\"] mod k;", "outside.rs: RustElsewhere"),
        ("include!(\"broken.txt\");", "broken.txt: Unfollowed"),
    ] {
        let folder = tree(&[
            ("w/Cargo.toml", MANIFEST),
            ("w/src/lib.rs", text),
            ("outside.rs", &code()),
            ("w/src/broken.txt", "include!(\"open"),
        ]);
        let current_folder = fs_err::canonicalize(folder.path().join("w")).unwrap();
        let scope = lmem_project::discover::Scope { current_folder, ..Default::default() };
        let workspace = lmem_project::discover::discover(&scope).unwrap();
        let found = crate::extract(&workspace, &Default::default());
        assert_eq!(not_checked(&found), [why], "{text}");
    }
}

#[test]
fn what_settings_leave_out_is_not_reached() {
    let manifest = format!("{MANIFEST}[package.metadata.lmem]\nexclude = [\"src/k.txt\", \".k.rs\"]\n");
    let text = "include!(\"k.txt\"); include!(\"../.k.rs\"); mod missing;";
    let found = of_folder(
        &tree(&[("Cargo.toml", &manifest), ("src/lib.rs", text), ("src/k.txt", &code()), (".k.rs", &code())]),
        &[],
    );
    assert_eq!((not_checked(&found).len(), units(&found).len()), (0, 0));
}
