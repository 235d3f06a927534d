//! Replaces files atomically: at any time, each file has either its old or its new content.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::FixedFile;
use lmem_base::guardian::{FILE_PREFIX, Replacement};
use lmem_base::held::HeldFolder;

/// Whether a path is a temporary file that was never renamed.
pub(super) fn is_left_over(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let rest = name.strip_prefix(FILE_PREFIX).unwrap_or_default();
    rest.len() == Replacement::RANDOM_LETTERS && rest.bytes().all(|letter| letter.is_ascii_alphanumeric())
}

/// Whether the target of a file, after symbolic links, is below the root: nothing else is written.
pub fn is_inside(fixed: &FixedFile, root: &Path) -> bool {
    lmem_base::places::Places::new([root.to_path_buf()]).hold_file(&fixed.file.path)
}

/// Why files were not changed.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("`{0}` changed while it was checked; nothing was written, run again")]
    Changed(String),
    #[error("`{0}` is read-only; nothing was written")]
    ReadOnly(String),
    #[error("`{0}` leads out of the workspace; nothing was written")]
    Outside(String),
    #[error("`{name}` cannot be written: {error}")]
    Io { name: String, error: std::io::Error },
}

/// Replaces the contents of files and keeps their permissions, and their owners where this user may. A symbolic link stays a link: its target is replaced, if
/// it is below the root. Returns the files that have further names (hard links): those keep the old content, since one of
/// them may lie anywhere.
///
/// # Errors
/// A file differs from the one that was checked, or cannot be replaced. In that case no file is changed, unless the
/// system fails between two renames.
pub fn write<'f>(files: &'f [FixedFile], root: &Path) -> Result<Vec<&'f FixedFile>, WriteError> {
    let prepared: Vec<Prepared<'_>> = files.iter().map(|file| prepare(file, root)).collect::<Result<_, _>>()?;
    let twins = prepared.iter().filter(|prepared| prepared.has_twin).map(|prepared| prepared.fixed).collect();
    for prepared in prepared {
        prepared.file.persist(&prepared.way).map_err(|error| io(prepared.fixed, error))?;
    }
    Ok(twins)
}

/// A temporary file with new content, next to the file it replaces.
struct Prepared<'f> {
    fixed: &'f FixedFile,
    /// The way to the file, through its folder.
    way: PathBuf,
    file: Replacement,
    has_twin: bool,
    // The folder stays open until the file is in its place.
    _folder: HeldFolder,
}

fn prepare<'f>(fixed: &'f FixedFile, root: &Path) -> Result<Prepared<'f>, WriteError> {
    let io = |error| io(fixed, error);
    let name = || fixed.file.display.clone();
    let (path, root) = (fs_err::canonicalize(&fixed.file.path).map_err(io)?, fs_err::canonicalize(root).map_err(io)?);
    if !path.starts_with(&root) {
        return Err(WriteError::Outside(name()));
    }
    let parent = path.parent().unwrap_or(&root);
    let folder = HeldFolder::open(&root, parent).map_err(io)?;
    let file_name = path.file_name().unwrap_or_default();
    let way = folder.way().join(file_name);
    let found = fs_err::symlink_metadata(&way).map_err(io)?;
    if !found.is_file() {
        return Err(WriteError::Changed(name()));
    }
    if found.permissions().readonly() {
        return Err(WriteError::ReadOnly(name()));
    }
    let file = Replacement::through(&folder.way(), parent, 0o600).map_err(io)?;
    file.as_file().write_all(fixed.text.as_bytes()).map_err(io)?;
    file.take_after(&way, &found).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    // Anything may have taken the file's place by now.
    let text = fixed.file.text().as_bytes();
    if folder.read(file_name, text.len() as u64).map_err(io)?.as_deref() != Some(text) {
        return Err(WriteError::Changed(name()));
    }
    Ok(Prepared { fixed, way, file, has_twin: found.nlink() > 1, _folder: folder })
}

fn io(fixed: &FixedFile, error: std::io::Error) -> WriteError {
    WriteError::Io { name: fixed.file.display.clone(), error }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use lmem_base::source::SourceFile;

    fn fixed(path: &Path, root: &Path) -> FixedFile {
        let file = SourceFile::read(path, root).unwrap();
        FixedFile { text: format!("// new\n{}", file.text()), file }
    }

    fn entries(folder: &Path) -> usize {
        fs_err::read_dir(folder).unwrap().count()
    }

    #[test]
    fn permissions_and_links_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (path, link) = (root.join("a.cu"), root.join("link.cu"));
        fs_err::write(&path, "int a;\n").unwrap();
        fs_err::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
        fs_err::os::unix::fs::symlink(&path, &link).unwrap();
        write(&[fixed(&link, root)], root).unwrap();
        assert_eq!(fs_err::read_to_string(&path).unwrap(), "// new\nint a;\n");
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert!(fs_err::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(entries(root), 2);
    }

    #[test]
    fn the_other_names_of_a_file_keep_the_old_text() {
        let folder = tempfile::tempdir().unwrap();
        let (path, twin) = (folder.path().join("a.cu"), folder.path().join("twin"));
        fs_err::write(&path, "int a;\n").unwrap();
        let alone = [fixed(&path, folder.path())];
        assert!(write(&alone, folder.path()).unwrap().is_empty());
        fs_err::hard_link(&path, &twin).unwrap();
        let files = [fixed(&path, folder.path())];
        let twins = write(&files, folder.path()).unwrap();
        assert_eq!(twins.iter().map(|fixed| fixed.file.display.as_str()).collect::<Vec<_>>(), ["a.cu"]);
        assert_eq!(fs_err::read_to_string(&twin).unwrap(), "// new\nint a;\n");
        assert_eq!(fs_err::read_to_string(&path).unwrap(), "// new\n// new\nint a;\n");
    }

    #[test]
    fn nobody_gets_a_program_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cu");
        fs_err::write(&path, "int a;\n").unwrap();
        // Only root may give a file away.
        drop(std::os::unix::fs::chown(&path, Some(1000), Some(1001)));
        fs_err::set_permissions(&path, PermissionsExt::from_mode(0o6755)).unwrap();
        let before = fs_err::metadata(&path).unwrap();
        write(&[fixed(&path, folder.path())], folder.path()).unwrap();
        let after = fs_err::metadata(&path).unwrap();
        assert_eq!((after.uid(), after.gid(), after.mode() & 0o7777), (before.uid(), before.gid(), 0o755));
    }

    #[test]
    fn what_must_not_be_replaced_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("ws");
        fs_err::create_dir(&root).unwrap();
        let outside = folder.path().join("out.cu");
        let (path, link) = (root.join("a.cu"), root.join("link.cu"));
        fs_err::write(&outside, "int out;").unwrap();
        fs_err::write(&path, "int a;").unwrap();
        fs_err::os::unix::fs::symlink(&outside, &link).unwrap();
        assert!(matches!(write(&[fixed(&path, &root), fixed(&link, &root)], &root), Err(WriteError::Outside(_))));
        let stale = fixed(&path, &root);
        fs_err::write(&path, "int b;").unwrap();
        assert!(matches!(write(&[stale], &root), Err(WriteError::Changed(_))));
        let fresh = fixed(&path, &root);
        fs_err::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
        assert!(matches!(write(std::slice::from_ref(&fresh), &root), Err(WriteError::ReadOnly(_))));
        fs_err::remove_file(&path).unwrap();
        assert!(matches!(write(std::slice::from_ref(&fresh), &root), Err(WriteError::Io { .. })));
        assert_eq!(fs_err::read_to_string(&outside).unwrap(), "int out;");
        assert_eq!(entries(&root), 1);
    }
}
