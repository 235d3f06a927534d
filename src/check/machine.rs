//! Machine code that was compiled elsewhere: finds the files of the workspace that its line tables name.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use lmem_base::places;
use lmem_base::source::{SourceFile, has_ending, normalize};

/// Extensions of files that contain kernels. A cubin may come with a pull request and name any file; showing lines of
/// another file could reveal a secret.
const SOURCES: &[&str] = &["cu", "cuh", "h", "hpp", "hh", "inl", "inc", "cpp", "cc", "cxx", "c", "rs", "ptx"];

/// Number of trailing path components that must agree if the build folder is not this one: a file name alone is a
/// guess.
const SHARED_PARTS: usize = 2;

/// The file that a line table names, if that is certain: the path itself, or a path of the workspace that the name ends
/// with. Every line that the table names must be possible code; otherwise this is a different file, or it has changed
/// since.
pub(super) fn source_file(name: &str, lines: &BTreeSet<u32>, base: &Path, root: &Path) -> Option<String> {
    let written = normalize(&base.join(name));
    let path = place(&written, base, root)?;
    let file = has_ending(&path, SOURCES).then(|| SourceFile::read_named(&path, root, &[root])).flatten()?;
    let holds_code = |line: &u32| file.line_text(*line as usize).is_some_and(may_be_code);
    lines.iter().all(holds_code).then(|| path.to_string_lossy().into_owned())
}

/// Whether a line can have code; compilers do not assign code to blank lines and comments.
fn may_be_code(line: &str) -> bool {
    const NO_CODE: [&str; 6] = ["//", "#include", "#define", "#if", "#else", "#endif"];
    let line = line.trim();
    !line.is_empty() && !NO_CODE.iter().any(|start| line.starts_with(start))
}

fn place(written: &Path, base: &Path, root: &Path) -> Option<PathBuf> {
    if is_file(written) {
        return Some(written.to_path_buf());
    }
    let parts: Vec<Component<'_>> = written.components().collect();
    let endings =
        (1..parts.len().saturating_sub(SHARED_PARTS - 1)).map(|first| parts[first..].iter().collect::<PathBuf>());
    let mut found: Vec<PathBuf> =
        endings.flat_map(|ending| [base.join(&ending), root.join(&ending)]).filter(|path| is_file(path)).collect();
    found.sort();
    found.dedup();
    match found.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// Notes the path as an input even if there is no file.
fn is_file(path: &Path) -> bool {
    places::asked_for(path);
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_certain_are_meant() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in
            [("kernels/a.cu", "one\n\nthree\n  // four\n"), ("a.cu", "one\n"), ("kernels/.env", "secret\n")]
        {
            fs_err::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs_err::write(root.join(path), text).unwrap();
        }
        let meant = |name: &str, lines: &[u32]| source_file(name, &lines.iter().copied().collect(), root, root);
        let here = root.join("kernels/a.cu").to_string_lossy().into_owned();
        assert_eq!(meant("kernels/a.cu", &[1, 3]).as_deref(), Some(here.as_str()));
        assert_eq!(meant(&here, &[3]).as_deref(), Some(here.as_str()));
        assert_eq!(meant("/home/ci/project/kernels/a.cu", &[1]).as_deref(), Some(here.as_str()));
        // A blank line or comment, a line past the end, a bare file name, a file that is no source, and a file outside
        // the root.
        assert_eq!(meant("kernels/a.cu", &[1, 2]), None);
        assert_eq!(meant("kernels/a.cu", &[4]), None);
        assert_eq!(meant("kernels/a.cu", &[9]), None);
        assert_eq!(meant("/home/ci/a.cu", &[1]), None);
        assert_eq!(meant("kernels/.env", &[1]), None);
        assert_eq!(meant("../../etc/hostname", &[1]), None);
    }
}
