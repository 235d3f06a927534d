//! Generates a lint: copies `lints/framework/skeleton.rs` under a new name, and adds the lint's entries, test crate and
//! docs.

use std::fs;
use std::path::{Path, PathBuf};

/// A new lint is inserted before this one, which claims every array that is indexed at run time.
const ASKED_BEFORE: &str = "    &dynamic_index::LINT,\n";

/// The last row of the table of lints.
const LAST_ROW: &str = "| `unexplained_local_memory` |";

const CRATE_MANIFEST: &str = r#"[package]
name = "skeleton"
version = "0.1.0"
edition = "2024"
publish = false

[workspace]
"#;

const KERNELS: &str = "\
// What `skeleton` reports, and what looks alike and is not reported.

__global__ void found(const int *in, float *out, int n) {
    float skeleton[16]; //~ skeleton
#pragma unroll
    for (int k = 0; k < 16; ++k) skeleton[k] = 0.0f;
    for (int i = 0; i < n; ++i) skeleton[in[i] & 15] += 1.0f;
#pragma unroll
    for (int k = 0; k < 16; ++k) out[k] = skeleton[k];
}

// All indices are constants: it stays in registers.
__global__ void kept(const float *in, float *out) {
    float skeleton[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) skeleton[k] = in[k];
#pragma unroll
    for (int k = 0; k < 4; ++k) out[k] = skeleton[3 - k];
}
";

/// Writes the files of a lint and edits those that list it. If a file is in the way, nothing is written.
pub fn write(root: &Path, name: &str) -> Result<(), String> {
    check_name(name)?;
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let skeleton = read("lints/framework/skeleton.rs")?;
    let test_crate = format!("test-crates/{name}");
    let new = [
        (format!("lints/{name}.rs"), renamed(&skeleton, name)),
        (format!("{test_crate}/Cargo.toml"), renamed(CRATE_MANIFEST, name)),
        (format!("{test_crate}/src/lib.rs"), "//! The kernels are in `kernels/`.\n".to_string()),
        (format!("{test_crate}/kernels/{name}.cu"), renamed(KERNELS, name)),
    ];
    let edited = [
        ("lints/lib.rs", registered(&read("lints/lib.rs")?, name)?),
        ("README.md", listed(&read("README.md")?, name)?),
    ];
    if let Some((path, _)) = new.iter().find(|(path, _)| root.join(path).exists()) {
        return Err(format!("`{path}` exists"));
    }
    let edited = edited.map(|(path, text)| (path.to_string(), text));
    new.into_iter().chain(edited).try_for_each(|(path, text)| put(root.join(path), &text))
}

fn put(path: PathBuf, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// The remaining steps, with their commands.
pub fn next_steps(name: &str) -> String {
    renamed(
        "\
wrote lints/skeleton.rs and test-crates/skeleton; listed in lints/lib.rs and README.md. Next:
1. in test-crates/skeleton/kernels/, kernels that have the cause, and some that look alike; `//~ skeleton` where a finding is
2. in lints/skeleton.rs, the check and the documentation; in README.md, the row
3. LMEM_RECORD=skeleton SNAPSHOTS=overwrite cargo test --test test_crates
   compiles the test crate and writes what is expected of it; look at `git diff`
4. cargo test",
        name,
    )
}

fn check_name(name: &str) -> Result<(), String> {
    let is_snake = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let is_taken = ["lib", "registry", "framework", "rewrite", "skeleton"].contains(&name);
    match is_snake && !is_taken {
        true => Ok(()),
        false => Err(format!("`{name}` is no name of a lint: it must be in snake case, as `dynamic_index` is")),
    }
}

fn renamed(text: &str, name: &str) -> String {
    text.replace("skeleton", name)
}

/// Adds the module in alphabetical order, and the lint to the list.
fn registered(text: &str, name: &str) -> Result<String, String> {
    let module = |line: &str| line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')).map(str::to_string);
    let modules: Vec<(usize, String)> =
        text.lines().enumerate().filter_map(|(number, line)| Some((number, module(line)?))).collect();
    let next = modules.iter().find(|(_, other)| other.as_str() > name).or(modules.last());
    let (number, _) = next.ok_or("lints/lib.rs has no modules")?;
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    let is_last = modules.last().is_some_and(|(_, last)| last.as_str() < name);
    lines.insert(number + usize::from(is_last), format!("mod {name};\n"));
    let text = lines.concat();
    let at = text.find(ASKED_BEFORE).ok_or("lints/lib.rs has no `ALL` with `dynamic_index` in it")?;
    Ok(format!("{}    &{name}::LINT,\n{}", &text[..at], &text[at..]))
}

/// Adds a row to the table of lints.
fn listed(text: &str, name: &str) -> Result<String, String> {
    let at = text.find(LAST_ROW).ok_or(format!("README.md has no row that starts with {LAST_ROW}"))?;
    Ok(format!("{}| `{name}` | warn | a variable that is called `{name}` |\n{}", &text[..at], &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A copy of the files that `write` reads.
    fn copy_of_repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for path in ["lints/lib.rs", "lints/framework/skeleton.rs", "README.md"] {
            put(folder.path().join(path), &fs::read_to_string(root.join(path)).unwrap()).unwrap();
        }
        folder
    }

    #[test]
    fn a_lint_is_complete() {
        let folder = copy_of_repository();
        write(folder.path(), "narrow_bus").unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
        let lint = read("lints/narrow_bus.rs");
        assert!(lint.contains("name: \"narrow_bus\"") && lint.contains("include_str!(\"narrow_bus.rs\")"));
        for path in ["lints/narrow_bus.rs", "test-crates/narrow_bus/Cargo.toml"] {
            assert!(!read(path).contains("skeleton"), "{path}");
        }
        assert!(read("test-crates/narrow_bus/kernels/narrow_bus.cu").contains("//~ narrow_bus\n"));
        assert!(read("README.md").contains("\n| `narrow_bus` | warn |"));
        let library = read("lints/lib.rs");
        let modules: Vec<&str> = library.lines().filter(|line| line.starts_with("mod ")).collect();
        assert!(modules.is_sorted() && modules.contains(&"mod narrow_bus;"), "{modules:?}");
        let place = |lint: &str| library.find(&format!("    &{lint}::LINT,\n")).unwrap();
        assert!(place("narrow_bus") < place("dynamic_index"));
        // The first and the last name in alphabetical order.
        for name in ["aa", "zz"] {
            write(folder.path(), name).unwrap();
            let library = read("lints/lib.rs");
            assert!(library.lines().filter(|line| line.starts_with("mod ")).is_sorted(), "{name}");
        }
        let mut format = Command::new("rustfmt");
        format.args(["--edition=2024", "--check", "--config=max_width=120,use_small_heuristics=Max"]);
        let format = format.arg(folder.path().join("lints/narrow_bus.rs")).output();
        // Skipped if rustfmt is not installed.
        assert!(format.is_err() || format.is_ok_and(|it| it.stdout.is_empty()), "the lint is not formatted");
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = copy_of_repository();
        let library = fs::read_to_string(folder.path().join("lints/lib.rs")).unwrap();
        put(folder.path().join("test-crates/narrow_bus/Cargo.toml"), "").unwrap();
        assert_eq!(write(folder.path(), "narrow_bus"), Err("`test-crates/narrow_bus/Cargo.toml` exists".to_string()));
        assert_eq!(fs::read_to_string(folder.path().join("lints/lib.rs")).unwrap(), library);
        for name in ["NarrowBus", "narrow-bus", "", "9lives", "framework"] {
            assert!(write(folder.path(), name).is_err(), "{name}");
        }
    }
}
