//! The test crates.

use std::path::{Path, PathBuf};

use lmem_base::version::Version;

use super::Problem;
use super::run::ARCHITECTURES;

/// The toolkit that records are made with.
pub const VERSION: Version = Version { major: 13, minor: 5 };

/// Crates that are compiled with another toolkit, and the architectures it supports. NVIDIA's wheels of 12.x only have
/// NVRTC and ptxas, so these crates only contain kernel strings.
const OTHER_TOOLKITS: &[(&str, Version, &[&str])] = &[
    ("toolkit_12_9", Version { major: 12, minor: 9 }, ARCHITECTURES),
    // It does not support sm_120.
    ("toolkit_12_4", Version { major: 12, minor: 4 }, &["sm_80", "sm_90"]),
];

/// Crates whose JSON report is compared as well: a plain one, one with headers, one with kernel strings.
const WITH_JSON: &[&str] = &["dynamic_index", "headers", "rust_strings", "suppressed"];

/// The crate whose kernels have labels instead of marks: `scores/` counts how many of them are found. Its report is not
/// compared word by word.
pub const LABELLED: &str = "labelled";

/// Crates that wait for an unfinished part of the tool, with the name of that part.
pub const WAITING: &[(&str, &str)] = &[];

/// A package in `test-crates/`.
#[derive(Debug, Clone)]
pub struct TestCrate {
    pub name: String,
    pub folder: PathBuf,
    /// The toolkit that the crate is compiled with.
    pub version: Version,
    pub architectures: &'static [&'static str],
}

/// `test-crates/`
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates")
}

/// All test crates, by name.
pub fn all() -> Vec<TestCrate> {
    let waits = |name: &str| WAITING.iter().any(|(waiting, _)| *waiting == name);
    let mut crates: Vec<TestCrate> = names().into_iter().filter(|name| !waits(name)).map(TestCrate::new).collect();
    crates.sort_by(|one, other| one.name.cmp(&other.name));
    crates
}

/// Folders with a manifest.
pub fn names() -> Vec<String> {
    let entries = fs_err::read_dir(root()).expect("`test-crates` lies in the package").filter_map(Result::ok);
    let packages = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
    packages.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

impl TestCrate {
    pub fn new(name: String) -> Self {
        let other = OTHER_TOOLKITS.iter().find(|(other, ..)| *other == name);
        let (version, architectures) = other.map_or((VERSION, ARCHITECTURES), |(_, version, known)| (*version, *known));
        Self { folder: root().join(&name), name, version, architectures }
    }

    /// Whether the crate has marks and expected reports.
    pub fn has_expectations(&self) -> bool {
        self.name != LABELLED
    }

    /// The folder of its records.
    pub fn recorded(&self) -> PathBuf {
        self.folder.join("recorded")
    }

    /// Whether the crate's suggestions are compiled and their figures recorded. Those of a crate with many kernels, and
    /// of crates for other toolkits, are not, so their suggestions stay unverified in tests.
    pub fn has_recorded_suggestions(&self) -> bool {
        self.name != LABELLED && self.version == VERSION
    }

    /// The expected human-readable report.
    pub fn expected_text(&self) -> PathBuf {
        root().join("expected").join(format!("{}.txt", self.name))
    }

    /// The expected JSON report, if the crate has one.
    pub fn expected_json(&self) -> Option<PathBuf> {
        let has_json = WITH_JSON.contains(&self.name.as_str());
        has_json.then(|| root().join("expected").join(format!("{}.json", self.name)))
    }

    /// All files of the crate that may have marks, relative to its folder.
    pub fn sources(&self) -> Vec<PathBuf> {
        let files = self.files().into_iter();
        files.filter(|path| path.extension().is_some_and(|ending| ending != "toml")).collect()
    }

    /// All files of the package, relative to its folder, sorted.
    fn files(&self) -> Vec<PathBuf> {
        let walk = walkdir::WalkDir::new(&self.folder).sort_by_file_name().into_iter();
        let is_made = |entry: &walkdir::DirEntry| {
            entry.depth() == 1 && (entry.file_name() == "recorded" || entry.file_name() == "target")
        };
        let files = walk.filter_entry(move |entry| !is_made(entry)).filter_map(Result::ok);
        let files = files.filter(|entry| entry.file_type().is_file());
        files.filter_map(|entry| entry.path().strip_prefix(&self.folder).ok().map(Path::to_path_buf)).collect()
    }

    /// Copies the package to an empty folder.
    pub fn copy_to(&self, folder: &Path) -> Result<(), Problem> {
        for file in self.files() {
            let to = folder.join(&file);
            fs_err::create_dir_all(to.parent().unwrap_or(folder)).map_err(|error| error.to_string())?;
            fs_err::copy(self.folder.join(&file), to).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
