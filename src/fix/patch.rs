//! Formats edits as a patch that `git apply` and `patch -p1` accept, relative to the workspace's root.

use lmem_base::diff;

use super::FixedFile;

/// The patch for some files, in their order; empty without files.
pub fn patch(files: &[FixedFile]) -> String {
    files.iter().map(of_file).collect()
}

fn of_file(fixed: &FixedFile) -> String {
    diff::patch(&fixed.file.display, fixed.file.text(), &fixed.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::SourceFile;

    #[test]
    fn a_patch_keeps_line_endings_and_says_where_a_last_line_has_none() {
        let file = SourceFile::from_text("kernels/a.cu", "a\r\nb\r\nc");
        let fixed = FixedFile { file, text: "a\r\n#pragma unroll\r\nb\r\nc".into() };
        let expected = "--- a/kernels/a.cu\n+++ b/kernels/a.cu\n@@ -1,3 +1,4 @@\n a\r\n+#pragma unroll\r\n b\r\n c\n\\ No newline at end of file\n";
        assert_eq!(patch(&[fixed]), expected);
        assert_eq!(patch(&[]), "");
    }
}
