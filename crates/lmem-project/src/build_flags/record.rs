//! Records of the commands of a build: one file per command, in one folder per build script.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use lmem_base::digest::name_of;
use lmem_base::files::write_whole;
use lmem_base::places::{self, Places};
use lmem_unit::CodeTarget;

use super::arguments::Invocation;

/// Limit on a file of records: a build calls nvcc some thousands of times at most, once in each.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Increased when the content of records changes.
const FORMAT: u32 = 1;

/// Digits of a hashed name; short, because paths contain several.
const NAME_LENGTH: usize = 32;

/// Environment variables that change what nvcc does.
const PREPENDED: &str = "NVCC_PREPEND_FLAGS";
const APPENDED: &str = "NVCC_APPEND_FLAGS";
const HOST_COMPILER: &str = "NVCC_CCBIN";
const INCLUDE_FOLDERS: [&str; 2] = ["CPATH", "CPLUS_INCLUDE_PATH"];

/// One command of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    /// The build that ran the command.
    pub run: String,
    /// Folder that the command ran in.
    pub folder: PathBuf,
    /// With response files and nvcc's environment variables expanded.
    pub arguments: Vec<String>,
    /// Package id of the build script that ran the command.
    pub package: Option<String>,
    /// `OUT_DIR` of the build script.
    pub out_dir: Option<PathBuf>,
    /// The virtual architecture that this nvcc uses by default.
    #[serde(default)]
    pub default_architecture: Option<String>,
}

impl Record {
    /// The command of the current process, which stands in for nvcc; `None` if it is not valid UTF-8.
    pub fn of_command(arguments: &[OsString], run: String, default_architecture: Option<String>) -> Option<Self> {
        let folder = std::env::current_dir().ok()?;
        let words: Option<Vec<String>> = arguments.iter().map(|word| word.to_str().map(String::from)).collect();
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let flags_of = |name: &str| variable(name).and_then(|value| shlex::split(&value)).unwrap_or_default();
        let mut arguments = flags_of(PREPENDED);
        arguments.extend(words?);
        arguments.extend(flags_of(APPENDED));
        if let Some(compiler) = variable(HOST_COMPILER) {
            arguments.splice(0..0, ["-ccbin".to_string(), compiler]);
        }
        for folders in INCLUDE_FOLDERS.iter().filter_map(|name| variable(name)) {
            let folders = folders.split(':').filter(|folder| !folder.is_empty());
            arguments.extend(folders.flat_map(|folder| ["-isystem".to_string(), folder.to_string()]));
        }
        let arguments = ResponseFiles::new(&folder, None).expanded(&arguments);
        let out_dir = std::env::var_os("OUT_DIR").map(PathBuf::from);
        Some(Self {
            format: FORMAT,
            run,
            folder,
            arguments,
            package: variable("CARGO_PKG_NAME"),
            out_dir,
            default_architecture,
        })
    }

    /// A command of a package's build script that ran in `/w`.
    #[cfg(test)]
    pub fn of_test(package: &str, out_dir: &str, arguments: &[&str]) -> Self {
        Self {
            format: FORMAT,
            run: "1".into(),
            folder: "/w".into(),
            arguments: arguments.iter().map(|word| word.to_string()).collect(),
            package: Some(package.into()),
            out_dir: Some(out_dir.into()),
            default_architecture: Some("compute_75".into()),
        }
    }

    /// The parsed command.
    pub fn invocation(&self) -> Option<Invocation> {
        let mut found = Invocation::parse(&self.arguments, &self.folder)?;
        if let Some(name) = self.default_architecture.as_ref().filter(|_| found.is_for_default) {
            // nvcc also embeds PTX by default, from which the driver compiles for newer GPUs.
            found.targets.push(CodeTarget { virtual_architecture: name.clone(), architecture: None });
        }
        Some(found)
    }
}

/// Limit on nested response files; deeper nesting is a cycle.
const MAX_NESTED: u32 = 8;

/// Limit on all response files of a command together. nvcc itself accepts no longer commands, and files that each name
/// two others would double in number with each level.
const MAX_RESPONSE_BYTES: u64 = 1 << 20;

/// Expands response files: `@file`, `--options-file file`, `-optf file`.
pub(super) struct ResponseFiles<'a> {
    /// Folders that the files must lie in; `None` for a command that the user's own build ran.
    within: Option<&'a Places>,
    folder: &'a Path,
    left: u64,
    /// Files that were not read, and why.
    pub refused: Vec<String>,
}

impl<'a> ResponseFiles<'a> {
    pub fn new(folder: &'a Path, within: Option<&'a Places>) -> Self {
        Self { within, folder, left: MAX_RESPONSE_BYTES, refused: Vec::new() }
    }

    /// The arguments as nvcc sees them.
    pub fn expanded(&mut self, arguments: &[String]) -> Vec<String> {
        self.level(arguments, 0)
    }

    fn level(&mut self, arguments: &[String], depth: u32) -> Vec<String> {
        let mut all = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let bare = word.trim_start_matches('-');
            let named = match bare.split_once('=') {
                Some(("options-file" | "optf", files)) if bare != word => Some(files.to_string()),
                _ if bare != word && matches!(bare, "options-file" | "optf") => words.next().cloned(),
                _ => word.strip_prefix('@').map(String::from),
            };
            let Some(files) = named.filter(|_| depth < MAX_NESTED) else {
                all.push(word.clone());
                continue;
            };
            for file in files.split(',') {
                let text = self.read(file).unwrap_or_default();
                all.extend(self.level(&shlex::split(&text).unwrap_or_default(), depth + 1));
            }
        }
        all
    }

    fn read(&mut self, name: &str) -> Option<String> {
        let path = self.folder.join(name);
        if !path.exists() {
            self.refused.push(format!("`{name}` is not there"));
            return None;
        }
        if self.within.is_some_and(|places| !places.hold(&path)) {
            self.refused.push(format!("`{name}` leads out of the workspace"));
            return None;
        }
        match places::read(&path, self.left) {
            Ok(bytes) => {
                // Every file counts, also an empty one, so that a list of empty files stays bounded.
                self.left = self.left.saturating_sub(bytes.len() as u64 + 64);
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            Err(error) => {
                self.refused.push(error.to_string());
                None
            }
        }
    }
}

/// The records of one workspace.
#[derive(Debug, Clone)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Stores a record. It replaces the former record of the same command and build script.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&self, record: &Record) -> io::Result<()> {
        let script = record.out_dir.as_deref().unwrap_or(Path::new(""));
        let folder = self.folder.join(hash(&[&script.to_string_lossy()]));
        fs_err::create_dir_all(&folder)?;
        let words: Vec<&str> = record.arguments.iter().map(String::as_str).collect();
        let place = record.folder.to_string_lossy();
        let name = hash(&[&[&*place], &words[..]].concat());
        // Two processes with the same command write the same content.
        write_whole(&folder.join(format!("{name}.json")), &serde_json::to_vec(record)?)
    }

    /// Removes the records of a build script.
    ///
    /// # Errors
    /// They cannot be removed.
    pub fn forget(&self, out_dir: &Path) -> io::Result<()> {
        removed(&self.folder.join(hash(&[&out_dir.to_string_lossy()])))
    }

    /// All readable records, without those of files that a later build compiled again.
    ///
    /// A build script that runs again may skip unchanged files. So a record stays valid until there is a newer one for
    /// the same file and script.
    pub fn read(&self) -> Vec<Record> {
        let mut records: Vec<Record> = walkdir::WalkDir::new(&self.folder)
            .min_depth(2)
            .max_depth(2)
            .sort_by_file_name()
            .into_iter()
            .filter_map(Result::ok)
            .filter_map(|entry| serde_json::from_slice(&places::read_own(entry.path(), MAX_BYTES).ok()?).ok())
            .filter(|record: &Record| record.format == FORMAT)
            .collect();
        let mut newest: BTreeMap<(PathBuf, PathBuf), String> = BTreeMap::new();
        for record in &records {
            for key in keys(record) {
                let run = newest.entry(key).or_default();
                *run = record.run.clone().max(std::mem::take(run));
            }
        }
        records.retain(|record| keys(record).iter().any(|key| newest.get(key) == Some(&record.run)));
        records
    }
}

/// Removes a folder, which need not be there.
pub(super) fn removed(folder: &Path) -> io::Result<()> {
    match fs_err::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The build scripts and files that a record is about.
fn keys(record: &Record) -> Vec<(PathBuf, PathBuf)> {
    let script = record.out_dir.clone().unwrap_or_default();
    let inputs = record.invocation().map(|invocation| invocation.inputs).unwrap_or_default();
    inputs.into_iter().map(|input| (script.clone(), input)).collect()
}

/// A file or folder name derived from some texts.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut name = name_of(parts.iter().copied());
    name.truncate(NAME_LENGTH);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(run: &str, arguments: &[&str]) -> Record {
        Record { run: run.into(), ..Record::of_test("p", "/o", arguments) }
    }

    #[test]
    fn a_newer_build_of_a_file_replaces_the_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::new(folder.path().join("records"));
        let put = |record: &Record| records.put(record).unwrap();
        put(&record("1", &["-c", "a.cu", "-DOLD"]));
        put(&record("1", &["-c", "b.cu"]));
        put(&record("2", &["-c", "a.cu", "-DONE"]));
        put(&record("2", &["-c", "a.cu", "-DTWO"]));
        fs_err::write(folder.path().join("records").join("x"), "{").unwrap();
        let mut flags: Vec<String> = records.read().iter().map(|record| record.arguments.join(" ")).collect();
        flags.sort();
        assert_eq!(flags, ["-c a.cu -DONE", "-c a.cu -DTWO", "-c b.cu"]);
    }

    #[test]
    fn nvcc_has_an_architecture_of_its_own() {
        let shown = |arguments: &[&str]| {
            let targets = record("1", arguments).invocation().unwrap().targets;
            targets.iter().map(|target| target.virtual_architecture.clone()).collect::<Vec<_>>()
        };
        assert_eq!(shown(&["-ptx", "a.cu"]), ["compute_75"]);
        assert_eq!(shown(&["-arch=sm_90", "a.cu"]), ["compute_90"]);
        assert!(shown(&["-arch=native", "a.cu"]).is_empty());
    }

    #[test]
    fn response_files_are_part_of_the_command() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("a.rsp"), "-I\"/x y\" -DN=1\n@b.rsp").unwrap();
        fs_err::write(folder.path().join("b.rsp"), "-O2").unwrap();
        let arguments = ["--options-file", "a.rsp", "-c", "a.cu", "@missing"].map(String::from);
        let expanded = |arguments: &[String]| ResponseFiles::new(folder.path(), None).expanded(arguments);
        assert_eq!(expanded(&arguments), ["-I/x y", "-DN=1", "-O2", "-c", "a.cu"]);
        fs_err::write(folder.path().join("c.rsp"), "@c.rsp").unwrap();
        assert_eq!(expanded(&["@c.rsp".to_string()]), ["@c.rsp"]);
    }

    #[test]
    fn response_files_are_bounded_files_of_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs_err::create_dir(path("tree")).unwrap();
        fs_err::write(path("secret"), "hunter2").unwrap();
        std::os::unix::fs::symlink(path("secret"), path("tree/link")).unwrap();
        fs_err::write(path("tree/twice"), "@twice @twice -DA=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
        let (tree, within) = (path("tree"), Places::new([path("tree")]));
        for name in ["../secret", "link", "/dev/zero", "/proc/self/environ", "/etc/passwd"] {
            let mut files = ResponseFiles::new(&tree, Some(&within));
            assert!(files.expanded(&[format!("@{name}")]).is_empty() && files.refused.len() == 1, "{name}");
        }
        let mut files = ResponseFiles::new(&tree, None);
        assert!(files.expanded(&["@/dev/zero".to_string()]).is_empty());
        let all = ResponseFiles::new(&tree, Some(&within)).expanded(&["@twice".to_string()]);
        assert!(all.len() < 1 << 16, "{}", all.len());
    }
}
