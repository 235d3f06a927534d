//! Maps files that a build was seen to make to their sources.

use std::path::{Path, PathBuf};

use super::BuildFlags;
use super::record::Record;

/// A file that a build makes, as Rust code names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuiltFile {
    /// In the `OUT_DIR` of the package's own build script: `scan.ptx` of `concat!(env!("OUT_DIR"), "/scan.ptx")`.
    InOutDir(String),
    /// Anywhere else.
    At(PathBuf),
}

impl BuiltFile {
    /// The file name without folders.
    pub fn name(&self) -> &str {
        match self {
            Self::InOutDir(path) => path.rsplit('/').next().unwrap_or(path),
            Self::At(path) => path.file_name().and_then(|name| name.to_str()).unwrap_or_default(),
        }
    }
}

/// An output of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    pub path: PathBuf,
    pub source: PathBuf,
    /// `OUT_DIR` of the build script that ran the command.
    out_dir: Option<PathBuf>,
    package: Option<String>,
}

impl Output {
    /// All outputs of a record's command.
    pub fn of_record<'a>(record: &'a Record, outputs: &'a [(PathBuf, PathBuf)]) -> impl Iterator<Item = Self> + 'a {
        outputs.iter().map(|(path, source)| Self {
            path: path.clone(),
            source: source.clone(),
            out_dir: record.out_dir.clone(),
            package: record.package.clone(),
        })
    }

    fn is(&self, package: Option<&str>, file: &BuiltFile) -> bool {
        match file {
            BuiltFile::At(path) => self.path == *path,
            BuiltFile::InOutDir(below) => {
                let own = self.out_dir.as_ref().map(|folder| folder.join(Path::new(below.trim_start_matches('/'))));
                self.package.as_deref() == package && own.as_ref() == Some(&self.path)
            }
        }
    }
}

impl BuildFlags {
    /// Adds a build that makes a file in the `OUT_DIR` of a package, for tests.
    pub fn making(mut self, package: &str, name: &str, source: PathBuf) -> Self {
        let out_dir = PathBuf::from(format!("/target/{package}/out"));
        let path = out_dir.join(name);
        self.outputs.push(Output { path, source, out_dir: Some(out_dir), package: Some(package.to_string()) });
        self
    }

    /// The sources of a file, if a build was seen to make it.
    pub fn sources_of(&self, package: Option<&str>, file: &BuiltFile) -> Vec<PathBuf> {
        let made = self.outputs.iter().filter(|output| output.is(package, file));
        let mut sources: Vec<PathBuf> = made.map(|output| output.source.clone()).collect();
        sources.sort();
        sources.dedup();
        sources
    }
}
