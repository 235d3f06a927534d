//! Formats edits as a patch that `git apply` and `patch -p1` accept, relative to the workspace's root.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use lmem_base::diff;

use super::FixedFile;

/// The patch for some files, in their order, relative to a folder; empty without files.
pub fn patch(files: &[FixedFile], root: &Path) -> String {
    files.iter().map(|fixed| of_file(fixed, root)).collect()
}

fn of_file(fixed: &FixedFile, root: &Path) -> String {
    // What is shown of a name need not be all of it.
    let path = fixed.file.path.strip_prefix(root).unwrap_or(&fixed.file.path);
    diff::patch(path.as_os_str().as_bytes(), fixed.file.text(), &fixed.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::SourceFile;

    #[test]
    fn a_patch_keeps_line_endings_and_says_where_a_last_line_has_none() {
        let file = SourceFile::from_text("kernels/a.cu", "a\r\nb\r\nc");
        let root = Path::new("");
        let fixed = FixedFile { file, text: "a\r\n#pragma unroll\r\nb\r\nc".into() };
        let expected = "--- a/kernels/a.cu\n+++ b/kernels/a.cu\n@@ -1,3 +1,4 @@\n a\r\n+#pragma unroll\r\n b\r\n c\n\\ No newline at end of file\n";
        assert_eq!(patch(&[fixed], root), expected);
        assert_eq!(patch(&[], root), "");
    }
}
