//! What is published beside the crate: one version in all of it, and nothing that a shell would take for its own.

use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(path: &str) -> String {
    fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn every_file_names_this_version() {
    for (path, line) in [
        ("pyproject.toml", format!("version = \"{VERSION}\"")),
        ("pyproject.toml", format!("dependencies = [\"cargo-lmem=={VERSION}\"]")),
        ("action.yml", format!("    default: \"{VERSION}\"")),
        ("templates/lmem.yml", format!("      default: \"{VERSION}\"")),
    ] {
        assert!(read(path).lines().any(|it| it == line), "{path} lacks: {line}");
    }
}

/// `${{ … }}` in a script is text of whoever opened the pull request, and a shell would run it.
#[test]
fn scripts_take_values_as_variables() {
    for path in ["action.yml", ".github/workflows/release.yml", "src/init/files/github.yml"] {
        let text = read(path);
        let mut indent = None;
        for line in text.lines() {
            let depth = line.len() - line.trim_start().len();
            if indent.is_some_and(|indent| depth <= indent && !line.trim().is_empty()) {
                indent = None;
            }
            let is_start = line.trim_start().trim_start_matches("- ").starts_with("run:");
            assert!(!(is_start || indent.is_some()) || !line.contains("${{"), "{path}: {line}");
            if is_start {
                indent = Some(depth);
            }
        }
    }
}

#[test]
fn the_archive_is_named_as_binstall_asks_for_it() {
    let (manifest, workflow) = (read("Cargo.toml"), read(".github/workflows/release.yml"));
    assert!(manifest.contains("cargo-lmem-v{ version }-{ target }{ archive-suffix }"));
    assert!(workflow.contains("name=\"cargo-lmem-$version-$TARGET\"") && workflow.contains("dist/$name.tgz"));
}
