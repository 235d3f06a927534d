//! Files that are whole or as they were.

use std::io::{self, Write};
use std::path::Path;

/// Writes a file beside its place and moves it there: who reads meanwhile finds the old one, or the new one.
///
/// # Errors
/// The folder cannot be written to.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    // A name without a folder lies in the current one.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for content in ["one", "two"] {
            write_whole(&path, content.as_bytes()).unwrap();
            assert_eq!(fs_err::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_whole(&folder.path().join("none/b"), b"").is_err());
    }
}
