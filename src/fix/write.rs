//! Replaces files atomically: at any time, each file has either its old or its new content.

use std::io::Write;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::FixedFile;
use lmem_base::guardian::{FILE_PREFIX, Replacement};

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
/// it is below the root.
///
/// # Errors
/// A file differs from the one that was checked, or cannot be replaced. In that case no file is changed, unless the
/// system fails between two renames.
pub fn write(files: &[FixedFile], root: &Path) -> Result<(), WriteError> {
    let prepared: Vec<Prepared<'_>> = files.iter().map(|file| prepare(file, root)).collect::<Result<_, _>>()?;
    prepared.into_iter().try_for_each(|prepared| {
        let io = |error| io(prepared.fixed, error);
        prepared.file.persist(&prepared.path).map_err(io)
    })
}

/// A temporary file with new content, next to the file it replaces.
struct Prepared<'f> {
    fixed: &'f FixedFile,
    path: PathBuf,
    file: Replacement,
}

fn prepare<'f>(fixed: &'f FixedFile, root: &Path) -> Result<Prepared<'f>, WriteError> {
    let io = |error| io(fixed, error);
    let name = || fixed.file.display.clone();
    let (path, root) = (fs_err::canonicalize(&fixed.file.path).map_err(io)?, fs_err::canonicalize(root).map_err(io)?);
    if !path.starts_with(&root) {
        return Err(WriteError::Outside(name()));
    }
    let found = fs_err::metadata(&path).map_err(io)?;
    if found.permissions().readonly() {
        return Err(WriteError::ReadOnly(name()));
    }
    let file = Replacement::new(path.parent().unwrap_or(&root), 0o600).map_err(io)?;
    file.as_file().write_all(fixed.text.as_bytes()).map_err(io)?;
    file.take_after(&found).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    if fs_err::read(&path).map_err(io)? != fixed.file.text().as_bytes() {
        return Err(WriteError::Changed(name()));
    }
    Ok(Prepared { fixed, path, file })
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
