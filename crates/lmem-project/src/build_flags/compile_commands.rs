//! Compilation databases: `compile_commands.json`, as CMake and Bear write it, with one command per file.
//!
//! The file is part of the workspace and not trusted, so its flags follow the rules of a manifest's: those that name a
//! program or write files are left out. Format: clang's "JSON Compilation Database Format Specification".

use std::path::{Path, PathBuf};

use serde::Deserialize;

use lmem_base::places::{self, Places, tree_of};

use super::arguments::Invocation;
use super::record::ResponseFiles;
use crate::config::nvcc_flags;

/// Usual paths, relative to the folder of a package or workspace.
const PLACES: [&str; 2] = ["compile_commands.json", "build/compile_commands.json"];

/// Prefixes of the names that IDEs and people give build folders.
const BUILD_FOLDERS: [&str; 4] = ["build", "cmake-build", "out", "_build"];

/// Larger databases are not read.
const MAX_BYTES: u64 = 64 << 20;

/// One entry of the database.
#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    command: Option<String>,
    arguments: Option<Vec<String>>,
}

/// The nvcc commands found in some folders, and remarks.
#[derive(Debug, Default)]
pub struct Commands {
    pub invocations: Vec<Invocation>,
    pub notes: Vec<String>,
    is_found: bool,
}

/// The databases of a folder: those at the usual paths, else that of the first build folder that has one.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let usual: Vec<PathBuf> = PLACES.iter().map(|place| folder.join(place)).filter(|path| path.exists()).collect();
    if !usual.is_empty() {
        return usual;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_build = |name: &str| BUILD_FOLDERS.iter().any(|start| name.starts_with(start));
    let mut builds: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_build))
        .map(|entry| entry.path().join(PLACES[0]))
        .filter(|path| path.exists())
        .collect();
    builds.sort();
    builds.truncate(1);
    builds
}

impl Commands {
    /// Reads the databases of some folders.
    pub fn read(folders: &[&Path]) -> Self {
        let mut commands = Self::default();
        let mut paths: Vec<PathBuf> = folders.iter().flat_map(|folder| in_folder(folder)).collect();
        paths.sort();
        paths.dedup();
        commands.is_found = !paths.is_empty();
        paths.iter().for_each(|path| commands.add(path));
        commands
    }

    /// Whether no database was found.
    pub fn is_none(&self) -> bool {
        !self.is_found
    }

    fn add(&mut self, path: &Path) {
        let tree = Places::new(path.parent().map(tree_of));
        // The messages of parse errors quote the file, so only files of the checked tree are read.
        let text = match tree.hold(path) {
            true => places::read(path, MAX_BYTES).map_err(|error| error.to_string()),
            false => Err("it leads out of the workspace".to_string()),
        };
        let entries: Result<Vec<Entry>, String> =
            text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
        match entries {
            Ok(entries) => entries.iter().for_each(|entry| self.take(entry, path, &tree)),
            Err(error) => self.notes.push(format!("`{}` is not used: {error}", path.display())),
        }
    }

    fn take(&mut self, entry: &Entry, path: &Path, tree: &Places) {
        let words = entry.arguments.clone().or_else(|| shlex::split(entry.command.as_deref()?));
        let Some((program, arguments)) = words.as_ref().and_then(|words| words.split_first()) else { return };
        let folder = path.parent().unwrap_or(Path::new("")).join(&entry.directory);
        // The compiler may follow a launcher: `sccache nvcc …`.
        let (program, arguments) = match arguments.split_first() {
            Some((second, rest)) if !is_nvcc(program) && is_nvcc(second) => (second, rest),
            _ => (program, arguments),
        };
        if !is_nvcc(program) {
            if lmem_base::source::has_ending(&entry.file, &["cu"]) {
                let name = entry.file.display();
                self.notes.push(format!(
                    "`{name}` is compiled by `{program}`: its flags are not those of nvcc and are not used"
                ));
            }
            return;
        }
        let mut files = ResponseFiles::new(&folder, Some(tree));
        let expanded = files.expanded(arguments);
        let of_file = |reason: String| format!("flags of `{}` are not used: {reason}", entry.file.display());
        self.notes.extend(files.refused.into_iter().map(of_file));
        let Some(mut invocation) = Invocation::parse(&expanded, &folder) else { return };
        let (allowed, refused) = nvcc_flags::allowed(&invocation.flags, &folder);
        if !refused.is_empty() {
            self.notes.push(format!(
                "`{}` is not used: `{}` of `{}`",
                refused.join(" "),
                entry.file.display(),
                path.display()
            ));
        }
        invocation.flags = allowed;
        self.invocations.push(invocation);
    }
}

fn is_nvcc(program: &str) -> bool {
    Path::new(program).file_stem().is_some_and(|name| name == "nvcc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_nvcc_are_taken_and_dangerous_flags_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let build = folder.path().join("build");
        fs_err::create_dir_all(&build).unwrap();
        fs_err::write(build.join("i.rsp"), "-isystem=/inc").unwrap();
        let text = r#"[
            {"directory": ".", "file": "/w/a.cu", "command": "/usr/bin/nvcc --options-file i.rsp -DX=\\\"a\\\" -DY=1 -ccbin ./evil -O3 --generate-code=arch=compute_80,code=[sm_80] -x cu -c /w/a.cu -o a.o"},
            {"directory": "/w", "file": "b.cu", "arguments": ["sccache", "nvcc", "-c", "b.cu", "-use_fast_math"]},
            {"directory": "/w", "file": "c.cu", "arguments": ["clang++", "-c", "c.cu"]},
            {"directory": "/w", "file": "d.cpp", "arguments": ["g++", "-c", "d.cpp"]}]"#;
        fs_err::write(build.join("compile_commands.json"), text).unwrap();
        fs_err::write(folder.path().join("compile_commands.json"), "[{]").unwrap();
        let commands = Commands::read(&[folder.path()]);
        let flags: Vec<String> = commands.invocations.iter().map(|found| found.flags.join(" ")).collect();
        assert_eq!(flags, ["-isystem /inc -DY=1 -O3", "-use_fast_math"]);
        assert_eq!(commands.invocations[0].targets[0].architecture.as_deref(), Some("sm_80"));
        assert_eq!(commands.notes.len(), 3, "{:?}", commands.notes);
        let notes = commands.notes.join("\n");
        assert!(
            notes.contains("/evil` is not used") && notes.contains("`clang++`") && notes.contains("key must be"),
            "{notes}"
        );
    }
}
