//! Source files and positions in them.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::places::{self, Places};

/// Size limit. A larger file is not a hand-written kernel, and reading it would only use memory.
const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// A file on disk: the `.cu`, the header it includes, or the `.rs` that holds a kernel string.
#[derive(Debug)]
pub struct SourceFile {
    /// Absolute path.
    pub path: PathBuf,
    /// The displayed path, with `/`: relative to the workspace root if the file is below it.
    pub display: String,
    text: String,
    line_starts: Vec<usize>,
    is_utf8: bool,
}

impl SourceFile {
    /// Reads `path`. Each byte that is not UTF-8 becomes one `?`, so offsets stay valid.
    ///
    /// # Errors
    /// The file cannot be read, is a pipe or a device, or is larger than 64 MiB.
    pub fn read(path: &Path, root: &Path) -> std::io::Result<Arc<Self>> {
        let bytes = places::read(path, MAX_SOURCE_BYTES)?;
        Ok(Self::from_bytes(path.to_path_buf(), display_path(path, root), bytes))
    }

    /// Reads a file named by a compiler's message or line table, if its resolved path is below one of the folders. The
    /// workspace controls that name (`#line`, `.file`), and the content is shown to the user.
    pub fn read_named(path: &Path, root: &Path, folders: &[&Path]) -> Option<Arc<Self>> {
        // A folder of the workspace may be a link by now that leads out of it.
        let workspace = Places::new([root.to_path_buf()]);
        let is_meant = |folder: &&&Path| !folder.starts_with(root) || workspace.hold(folder);
        let places = Places::new(folders.iter().filter(is_meant).map(|folder| folder.to_path_buf()));
        let bytes = places.read_held(path, MAX_SOURCE_BYTES).ok()?;
        Some(Self::from_bytes(path.to_path_buf(), display_path(path, root), bytes))
    }

    /// A file with the given text, for tests and for text that is not on disk.
    pub fn from_text(display: &str, text: &str) -> Arc<Self> {
        Self::from_bytes(PathBuf::from(display), display.to_string(), text.as_bytes().to_vec())
    }

    /// A file without text, such as machine code: it has a name and a single position.
    pub fn without_text(path: &Path, root: &Path) -> Arc<Self> {
        Self::from_bytes(path.to_path_buf(), display_path(path, root), Vec::new())
    }

    fn from_bytes(path: PathBuf, display: String, bytes: Vec<u8>) -> Arc<Self> {
        let (text, is_utf8) = match String::from_utf8(bytes) {
            Ok(text) => (text, true),
            Err(error) => (replace_invalid_bytes(error.as_bytes()), false),
        };
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(offset, _)| offset + 1)).collect();
        Arc::new(Self { path, display, text, line_starts, is_utf8 })
    }

    /// The text, with `?` for each byte that is not UTF-8.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file on disk is UTF-8; other files must not be edited.
    pub fn is_utf8(&self) -> bool {
        self.is_utf8
    }

    /// Number of lines; a file that ends in a newline has an empty last line.
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// Byte range of a line (from 1) without its line ending; `None` after the last line.
    pub fn line_range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.line_starts.get(line.checked_sub(1)?)?;
        let end = self.line_starts.get(line).map_or(self.text.len(), |next| next - 1);
        let content = self.text[start..end].strip_suffix('\r').unwrap_or(&self.text[start..end]);
        Some(start..start + content.len())
    }

    /// Text of a line (from 1).
    pub fn line_text(&self, line: usize) -> Option<&str> {
        self.line_range(line).map(|range| &self.text[range])
    }

    /// Line and byte column, both from 1, of a byte offset.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        (line, offset - self.line_starts[line - 1] + 1)
    }

    /// Byte offset of a line and byte column, both from 1; a column beyond the line gives its end.
    pub fn offset(&self, line: usize, column: usize) -> Option<usize> {
        let range = self.line_range(line)?;
        let mut offset = (range.start + column.max(1) - 1).min(range.end);
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        Some(offset)
    }
}

/// A byte range of one source file.
#[derive(Clone)]
pub struct Span {
    pub file: Arc<SourceFile>,
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(file: &Arc<SourceFile>, range: Range<usize>) -> Self {
        Self { file: Arc::clone(file), start: range.start, end: range.end }
    }

    /// The place of what no line of a file is to blame for, such as its flags. No line of it is shown.
    pub fn whole_file(file: &Arc<SourceFile>) -> Self {
        Self::new(file, 0..0)
    }

    pub fn is_whole_file(&self) -> bool {
        self.range() == (0..0)
    }

    /// The non-blank part of a line (from 1).
    pub fn line(file: &Arc<SourceFile>, line: usize) -> Option<Self> {
        let range = file.line_range(line)?;
        let text = &file.text()[range.clone()];
        let start = range.start + (text.len() - text.trim_start().len());
        let end = (range.start + text.trim_end().len()).max(start);
        Some(Self::new(file, start..end))
    }

    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    pub fn text(&self) -> &str {
        self.file.text().get(self.range()).unwrap_or("")
    }

    /// Line and column of the start, from 1.
    pub fn line_column(&self) -> (usize, usize) {
        self.file.line_column(self.start)
    }

    pub fn start_line(&self) -> usize {
        self.line_column().0
    }

    fn key(&self) -> (&str, usize, usize) {
        (&self.file.display, self.start, self.end)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}+{}", self.file.display, self.end - self.start)
    }
}

impl PartialEq for Span {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Span {}

impl PartialOrd for Span {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Span {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The displayed path, with `/`: relative to `root` if the path is below it. Names come from the workspace, so characters
/// that act on a terminal or a log are replaced.
pub fn display_path(path: &Path, root: &Path) -> String {
    let shown = path.strip_prefix(root).unwrap_or(path);
    let name = crate::inert::name(&shown.to_string_lossy());
    // Elsewhere, a backslash is a letter like others.
    if cfg!(windows) { name.replace('\\', "/") } else { name }
}

/// Removes `.` and `x/..` without file system access: compilers print such names.
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Whether a file name has one of these extensions: `cu`, `ptx`.
pub fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
}

fn replace_invalid_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_columns_and_offsets_agree() {
        let file = SourceFile::from_text("a.cu", "one\r\n  two\n");
        assert_eq!(file.line_count(), 3);
        assert_eq!(file.line_text(1), Some("one"));
        assert_eq!(file.line_text(2), Some("  two"));
        assert_eq!(file.line_column(7), (2, 3));
        assert_eq!(file.offset(2, 3), Some(7));
        assert_eq!(file.offset(9, 1), None);
        assert_eq!(Span::line(&file, 2).unwrap().text(), "two");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        let below = root.join("below");
        for place in [&below, &outside] {
            fs_err::create_dir_all(place).unwrap();
            fs_err::write(place.join("a.cu"), place.display().to_string()).unwrap();
        }
        let read = |folder: &Path| SourceFile::read_named(&folder.join("a.cu"), &root, &[&root, folder]);
        assert!(read(&below).is_some() && read(&outside).is_some(), "a folder outside is one that was named");
        fs_err::rename(&below, root.join("old")).unwrap();
        std::os::unix::fs::symlink(&outside, &below).unwrap();
        assert!(read(&below).is_none());
    }

    #[test]
    fn broken_utf8_keeps_offsets() {
        let file = SourceFile::from_bytes("a.cu".into(), "a.cu".into(), b"a\xff\xfeb\n".to_vec());
        assert_eq!(file.text(), "a??b\n");
        assert!(!file.is_utf8());
    }

    #[test]
    fn offsets_never_split_a_character() {
        let file = SourceFile::from_text("a.cu", "// é x");
        assert_eq!(file.offset(1, 5), Some(3));
    }

    #[test]
    fn dots_are_folded() {
        assert_eq!(normalize(Path::new("/a/bin/../include/./x.h")), Path::new("/a/include/x.h"));
        assert_eq!(normalize(Path::new("../x")), Path::new("../x"));
    }
}
