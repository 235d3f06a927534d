//! Inputs of the compilers besides their command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::{places, process};

use super::hashes::Hashes;
use crate::compile::ADDING_VARIABLES;
use crate::sandbox::host::{self, Word};

/// Environment variables that nvcc and the host compiler read: the choice of host compiler, and header folders.
const VARIABLES: [&str; 9] = [
    "NVCC_CCBIN",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "SOURCE_DATE_EPOCH",
];

/// Variables that name folders for headers, with colons: GCC and Clang seek there after the folders of the command line.
const HEADER_FOLDERS: [&str; 5] =
    ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "OBJCPLUS_INCLUDE_PATH"];

/// The host compilers that nvcc looks for on `PATH`.
const HOST_COMPILERS: [&str; 2] = ["gcc", "g++"];

/// Larger programs are no scripts.
const MAX_SCRIPT_BYTES: u64 = 64 << 10;

/// Limit on what a script names: more is no wrapper around a compiler.
const MAX_NAMED: usize = 200;

/// The values of all inputs of an nvcc command that are not on its command line, looked for once in a run.
#[derive(Default)]
pub struct Environment {
    of_captured: OnceLock<Vec<String>>,
    of_others: OnceLock<Vec<String>>,
}

impl Environment {
    pub fn of_nvcc(&self, origin: FlagOrigin, hashes: &Hashes) -> &[String] {
        // The variables of a captured build are part of its record.
        match origin {
            FlagOrigin::Captured => self.of_captured.get_or_init(|| values(&[], hashes)),
            _ => self.of_others.get_or_init(|| values(&ADDING_VARIABLES, hashes)),
        }
    }
}

/// The flags by which the environment has nvcc and the host compiler seek headers, also in folders that are not there.
pub fn seeking(origin: FlagOrigin) -> Vec<String> {
    seeking_by(origin, |name| std::env::var_os(name))
}

fn seeking_by(origin: FlagOrigin, value: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
    let lists: Vec<OsString> = HEADER_FOLDERS.iter().filter_map(|name| value(name)).collect();
    let folders = lists.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let mut found: Vec<String> = folders.map(|folder| format!("-isystem={}", folder.display())).collect();
    if origin != FlagOrigin::Captured {
        let flags = ADDING_VARIABLES.iter().filter_map(|name| value(name));
        found.extend(flags.flat_map(|flags| host::words(&flags.to_string_lossy())).filter_map(|word| match word {
            Word::Other(word) => Some(word),
            Word::Host(_) => None,
        }));
    }
    found
}

fn values(adding: &[&str], hashes: &Hashes) -> Vec<String> {
    let value = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some(value.to_string_lossy().into_owned())
    };
    let set = adding.iter().chain(&VARIABLES).filter_map(|name| Some(format!("{name}={}", value(name)?)));
    let flags = adding.iter().filter_map(|name| value(name)).flat_map(|flags| host::words(&flags));
    let (mut of_flags, mut files) = (Vec::new(), Vec::new());
    for word in flags {
        match word {
            Word::Host(path) => of_flags.push(path),
            Word::Other(word) => files.extend(files_of(&word).flat_map(|path| identity(&path, hashes))),
        }
    }
    let named = value("NVCC_CCBIN").into_iter().chain(of_flags);
    let found = HOST_COMPILERS.iter().filter_map(|name| process::on_path(name));
    let compilers = named.flat_map(|named| compilers_at(&named)).chain(found);
    set.chain(files).chain(compilers.flat_map(|path| identity(&path, hashes))).collect()
}

/// The files that a flag names, whichever it is: lists of options for nvcc or the host compiler, `-optf f`, `-Xcompiler @f`, `-specs=f`.
fn files_of(word: &str) -> impl Iterator<Item = PathBuf> {
    let parts = word.split([',', '=']).map(|part| PathBuf::from(part.trim_start_matches('@')));
    parts.filter(|path| lmem_base::places::is_regular(path))
}

/// The programs that nvcc may start where it is told of one, or of a folder with some.
fn compilers_at(named: &str) -> Vec<PathBuf> {
    let path = Path::new(named);
    match path.is_dir() {
        true => HOST_COMPILERS.iter().map(|name| path.join(name)).filter(|path| path.is_file()).collect(),
        false if named.contains('/') => vec![path.to_path_buf()],
        false => process::on_path(named).into_iter().collect(),
    }
}

/// The real path of a program, which includes the version on most systems, and its content. The modification time is not used, as it
/// differs between machines. Of a script, also the variables and files that it names.
fn identity(program: &Path, hashes: &Hashes) -> Vec<String> {
    let Ok(path) = program.canonicalize() else { return Vec::new() };
    let of = |path: &Path| format!("{} {}", path.display(), hashes.of(path).unwrap_or_default());
    let mut parts = vec![format!("{} {}", program.display(), of(&path))];
    let is_short = path.metadata().is_ok_and(|found| found.len() <= MAX_SCRIPT_BYTES);
    let script = is_short.then(|| places::read(&path, MAX_SCRIPT_BYTES).ok()).flatten();
    if let Some(script) = script.filter(|text| text.starts_with(b"#!")) {
        let words = Words::of(&String::from_utf8_lossy(&script));
        let value = |name: &String| format!("{name}={:?}", std::env::var_os(name));
        parts.extend(words.variables.iter().map(value));
        parts.extend(words.files.iter().filter(|path| path.is_file()).map(|path| of(path)));
    }
    parts
}

/// What a script names.
#[derive(Debug, Default, PartialEq)]
struct Words {
    variables: Vec<String>,
    files: Vec<PathBuf>,
}

impl Words {
    fn of(script: &str) -> Self {
        let is_word = |c: char| c.is_alphanumeric() || "_/.+-".contains(c);
        let mut words = Self::default();
        for word in script.split(|c: char| !is_word(c)).filter(|word| word.starts_with('/')) {
            words.files.push(PathBuf::from(word));
        }
        for name in script.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && std::env::var_os(name).is_some() {
                words.variables.push(name.to_string());
            }
        }
        words.variables.sort();
        words.variables.dedup();
        words.variables.truncate(MAX_NAMED);
        words.files.sort();
        words.files.dedup();
        words.files.truncate(MAX_NAMED);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_flags_name_are_found_in_any_form() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.txt");
        fs_err::write(&file, "-DX").unwrap();
        let name = file.display();
        for word in
            [format!("{name}"), format!("@{name}"), format!("-Xcompiler=-w,-specs={name}"), format!("-optf={name}")]
        {
            assert_eq!(files_of(&word).collect::<Vec<_>>(), std::slice::from_ref(&file), "{word}");
        }
        assert_eq!(files_of(&format!("-I{name},-DX={}", folder.path().display())).count(), 0);
    }

    #[test]
    fn a_script_is_what_it_names_too() {
        let words = Words::of("#!/bin/sh\n. /etc/conf\nexec /usr/bin/g++ ${PATH} $NONE_SUCH \"$@\"\n");
        assert_eq!(words.files, ["/bin/sh", "/etc/conf", "/usr/bin/g++"].map(PathBuf::from));
        assert_eq!(words.variables, ["PATH"]);
    }

    #[test]
    fn headers_are_sought_where_variables_say() {
        let value = |name: &str| match name {
            "CPATH" => Some("/a::b:/none".into()),
            "CPLUS_INCLUDE_PATH" => Some("/c".into()),
            "NVCC_APPEND_FLAGS" => Some("-I /d -ccbin /e".into()),
            _ => None,
        };
        let folders = ["-isystem=/a", "-isystem=/none", "-isystem=/c"];
        assert_eq!(seeking_by(FlagOrigin::Captured, value), folders);
        assert_eq!(seeking_by(FlagOrigin::Assumed, value), [&folders[..], &["-I", "/d"]].concat());
    }

    #[test]
    fn another_text_is_another_compiler() {
        let folder = tempfile::tempdir().unwrap();
        let (program, other) = (folder.path().join("g++"), folder.path().join("conf"));
        let identity = |text: &str, conf: &str| {
            fs_err::write(&program, format!("#!/bin/sh\n. {}\n{text}", other.display())).unwrap();
            fs_err::write(&other, conf).unwrap();
            let store = super::super::Store::new(folder.path().join("cache"));
            identity(&program, &Hashes::load(&store, folder.path()))
        };
        let first = identity("g++ -DA", "1");
        assert_eq!(first, identity("g++ -DA", "1"));
        assert_ne!(first, identity("g++ -DB", "1"));
        assert_ne!(first, identity("g++ -DA", "2"));
    }
}
