//! Flags for `.cu` files in the form of C++ tools: `-I`, `-D`, `--nvcc-flags`, and a folder with compile commands.

use std::path::{Path, PathBuf};

use lmem_project::config::nvcc_flags;

use super::CheckArgs;

/// The compilation database in a build folder.
const COMPILE_COMMANDS: &str = "compile_commands.json";

/// Whether an argument of `-D` is a macro definition: names of lints are lower-case and have no value. A name in capitals
/// that is nearly a lint's was meant as that: as a macro it would deny nothing, in silence.
fn is_macro(text: &str) -> bool {
    if text.contains('=') {
        return true;
    }
    let has_capitals = text.contains(|letter: char| letter.is_ascii_uppercase());
    has_capitals && !text.contains(',') && !is_nearly_a_lint(text)
}

fn is_nearly_a_lint(text: &str) -> bool {
    let known = lmem_lints::names_with_levels().into_iter().chain(["warnings"]);
    lmem_base::words::nearest(text, known).is_some()
}

impl CheckArgs {
    /// The lints that `-D` names.
    pub fn denied(&self) -> Vec<String> {
        self.deny.iter().filter(|text| !is_macro(text)).cloned().collect()
    }

    /// Flags for all `.cu` files, restricted to those that a manifest may set, with relative paths made absolute from
    /// `folder`.
    ///
    /// # Errors
    /// A flag is not allowed in a manifest; the message is for the user.
    pub fn extra_flags(&self, folder: &Path) -> Result<Vec<String>, String> {
        let macros: Vec<String> = self.deny.iter().filter(|text| is_macro(text)).cloned().collect();
        let mut flags = nvcc_flags::check_defines(&macros).map_err(|error| format!("`-D`: {error}"))?;
        for include in &self.include_dir {
            let words = ["-I".to_string(), include.to_string_lossy().into_owned()];
            flags.extend(nvcc_flags::check(&words, folder).map_err(|error| format!("`-I`: {error}"))?);
        }
        for text in &self.nvcc_flags {
            let words = shlex::split(text).ok_or_else(|| format!("`--nvcc-flags {text}`: a quotation mark is open"))?;
            flags.extend(nvcc_flags::check(&words, folder).map_err(|error| format!("`--nvcc-flags`: {error}"))?);
        }
        Ok(flags)
    }

    /// The arguments of `-p`: folders with compile commands, and packages.
    pub fn builds_and_packages(&self, folder: &Path) -> (Vec<PathBuf>, Vec<String>) {
        let (builds, packages): (Vec<String>, Vec<String>) =
            self.package.iter().cloned().partition(|spec| folder.join(spec).join(COMPILE_COMMANDS).is_file());
        (builds.into_iter().map(|build| folder.join(build)).collect(), packages)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Cargo;
    use super::*;

    fn arguments(words: &[&str]) -> CheckArgs {
        let Cargo::Lmem(arguments) = Cargo::parse_from(["cargo", "lmem"].iter().chain(words));
        arguments.check
    }

    #[test]
    fn flags_are_held_to_the_rules_of_manifests() {
        let folder = Path::new("/w");
        let given = arguments(&["-Iinclude", "-I", "/opt/x", "-DN=4", "-D", "FAST", "-D", "warnings", "a.cu"]);
        assert_eq!(given.denied(), ["warnings"]);
        let flags = given.extra_flags(folder).unwrap();
        assert!(flags.contains(&"-DN=4".to_string()) && flags.contains(&"-DFAST".to_string()), "{flags:?}");
        assert!(flags.iter().any(|flag| flag.contains("/w/include")), "{flags:?}");
        let flags = arguments(&["--nvcc-flags", "-O1 --use_fast_math"]).extra_flags(folder).unwrap();
        assert_eq!(flags.len(), 2, "{flags:?}");
        let given = arguments(&[
            "-D",
            "Rolled_loop",
            "-D",
            "WARNINGS",
            "-D",
            "Dynamic-Indx",
            "-D",
            "ROLLED_LOOP=1",
            "-D",
            "USE_DOUBLE",
        ]);
        assert_eq!(given.denied(), ["Rolled_loop", "WARNINGS", "Dynamic-Indx"]);
        assert_eq!(given.extra_flags(folder).unwrap(), ["-DROLLED_LOOP=1", "-DUSE_DOUBLE"]);
        for words in [["--nvcc-flags", "-ccbin ./evil"], ["--nvcc-flags", "-O1 '"], ["-D", "A=$(x)"], ["-I", "a`b"]] {
            assert!(arguments(&words).extra_flags(folder).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_folder_with_compile_commands_is_no_package() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir(folder.path().join("build")).unwrap();
        let given = arguments(&["-p", "build", "-p", "kernels"]);
        assert_eq!(given.builds_and_packages(folder.path()).0, Vec::<PathBuf>::new());
        fs_err::write(folder.path().join("build").join(COMPILE_COMMANDS), "[]").unwrap();
        let expected = (vec![folder.path().join("build")], vec!["kernels".to_string()]);
        assert_eq!(given.builds_and_packages(folder.path()), expected);
    }
}
