//! The hostile kernels, and what `--fix` makes of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;

/// What a user has to ask for to get an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// `--fix`
    Safe,
    /// `--fix --unsafe-fixes`
    Unsafe,
}

impl Form {
    pub const ALL: [Self; 2] = [Self::Safe, Self::Unsafe];

    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
        }
    }
}

/// A file that one of the forms changes.
pub struct Edited {
    /// From the collection's folder: `kernels/NAME.cu` or `strings/NAME.rs`.
    pub path: String,
    pub form: Form,
    pub before: String,
    pub after: String,
}

impl Edited {
    /// As it stands in `judged.txt`.
    pub fn judged_name(&self) -> String {
        format!("{} {} {}", self.form.name(), self.path, hash(&self.after))
    }

    /// A patch of this file.
    pub fn diff(&self) -> String {
        lmem_base::diff::patch(self.path.as_bytes(), &self.before, &self.after)
    }
}

/// Short, and enough to tell two texts of this collection apart.
pub fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_string()
}

/// Where the collection lies.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hunt")
}

/// The paths of the collection's files in their order, headers too.
pub fn files() -> Result<Vec<String>, Failed> {
    let mut files = Vec::new();
    for part in ["kernels", "strings"] {
        for entry in fs_err::read_dir(folder().join(part))? {
            files.push(format!("{part}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    files.sort();
    Ok(files)
}

/// The files that the forms change; what both change in the same way counts as safe.
///
/// All is compiled once, in one folder: what a form has in common with the one before comes from the cache. That is the test's own,
/// as the user's has figures of other builds of this program, under the same version.
pub fn edit(architecture: &str) -> Result<Vec<Edited>, Failed> {
    let (place, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let toolkit = toolkit()?;
    let lmem = |arguments: &[&str], paths: &[String]| {
        let mut command = lmem(arguments);
        command.args(["--verify-budget", "3600", "--arch", architecture, "--toolkit", &toolkit]).args(paths);
        said(command.env("CARGO_LMEM_CACHE_DIR", cache.path()).current_dir(place.path()))
    };
    copy_into(place.path(), &[])?;
    // Whatever is safe is also written with `--unsafe-fixes`, so that only these files are looked at again.
    let folders = ["kernels".to_string(), "strings".to_string()];
    let patch = lmem(&["--diff", "--unsafe-fixes"], &folders)?;
    let names = patch.lines().filter_map(|line| line.strip_prefix("--- a/"));
    let changed: Vec<String> = names.map(|name| name.trim_end().to_string()).collect();
    let mut edited: Vec<Edited> = Vec::new();
    for form in Form::ALL.into_iter().filter(|_| !changed.is_empty()) {
        copy_into(place.path(), &[])?;
        let arguments: &[&str] = match form {
            Form::Safe => &["--fix", "--allow-no-vcs"],
            Form::Unsafe => &["--fix", "--allow-no-vcs", "--unsafe-fixes"],
        };
        lmem(arguments, &changed)?;
        for path in files()? {
            let before = fs_err::read_to_string(folder().join(&path))?;
            let after = fs_err::read_to_string(place.path().join(&path))?;
            let is_safe = edited.iter().any(|edited| edited.path == path && edited.after == after);
            if after != before && !is_safe {
                edited.push(Edited { path, form, before, after });
            }
        }
    }
    edited.sort_by(|left, right| (&left.path, left.form).cmp(&(&right.path, right.form)));
    Ok(edited)
}

/// Copies the collection, with some files edited.
pub fn copy_into(place: &Path, edited: &[&Edited]) -> Result<(), Failed> {
    for path in files()? {
        let copy = place.join(&path);
        fs_err::create_dir_all(copy.parent().unwrap_or(place))?;
        match edited.iter().find(|edited| edited.path == path) {
            Some(edited) => fs_err::write(copy, &edited.after)?,
            None => fs_err::write(copy, fs_err::read(folder().join(&path))?)?,
        }
    }
    Ok(())
}

/// The folder of the toolkit in use.
fn toolkit() -> Result<String, Failed> {
    Ok(said(&mut lmem(&["toolkit", "which"]))?.trim().to_string())
}

fn lmem(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
    command.arg("lmem").args(arguments);
    command
}

/// What a program prints.
fn said(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
    }
}
