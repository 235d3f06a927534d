//! Distinguishes kernels from other text.

use memchr::memmem;

/// Whether text defines a kernel: `__global__`, `void` and a body, outside of comments.
pub(super) fn is_kernel(text: &str) -> bool {
    if !text.contains("__global__") && !text.contains(ATTRIBUTE) {
        return false;
    }
    let code = with_qualifier(without_comments(text));
    let words = word_starts(&code, "__global__");
    words.into_iter().any(|at| {
        let rest = &code[at..];
        let before = &code[..at];
        // `void __global__ f()` is valid, though rare.
        let is_void = !word_starts(rest, "void").is_empty() || before.trim_end().ends_with("void");
        is_void && rest.contains('{')
    })
}

/// Whether text has a word that kernels of CUDA C++ or PTX come with; most texts are told by this.
pub(super) fn may_have_kernel(text: &[u8]) -> bool {
    let has = |word: &str| memmem::find(text, word.as_bytes()).is_some();
    has("__global__") || has(".entry") || has(ATTRIBUTE) && has("global")
}

/// What `__global__` is defined as, with `global` behind it in two parentheses.
const ATTRIBUTE: &str = "__attribute__";

/// Code with `__global__` for `__attribute__((global))`.
fn with_qualifier(code: String) -> String {
    let Some(first) = code.find(ATTRIBUTE) else { return code };
    let mut written = code[..first].to_string();
    let mut rest = &code[first..];
    while let Some(behind) = rest.strip_prefix(ATTRIBUTE) {
        let opened = behind.trim_start().strip_prefix('(').and_then(|inner| inner.trim_start().strip_prefix('('));
        let name = opened.map(str::trim_start).and_then(|name| name.strip_prefix("global"));
        let closed = name.and_then(|name| name.trim_start().strip_prefix(')')?.trim_start().strip_prefix(')'));
        written.push_str(if closed.is_some() { "__global__ " } else { ATTRIBUTE });
        let behind = closed.unwrap_or(behind);
        let next = behind.find(ATTRIBUTE).unwrap_or(behind.len());
        written.push_str(&behind[..next]);
        rest = &behind[next..];
    }
    written
}

/// Whether text is PTX with a kernel or a function.
pub(super) fn is_ptx(text: &str) -> bool {
    text.contains(".version") && text.contains(".target") && (text.contains(".entry") || text.contains(".func"))
}

fn word_starts(text: &str, word: &str) -> Vec<usize> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let stands_alone = |at: &usize| !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part);
    text.match_indices(word).map(|(at, _)| at).filter(stands_alone).collect()
}

fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        code.push_str(&rest[..at]);
        code.push(' ');
        let (end, skipped) = if rest[at..].starts_with("//") { ("\n", 0) } else { ("*/", 2) };
        rest = match rest[at + 2..].find(end) {
            Some(length) => &rest[at + 2 + length + skipped..],
            None => "",
        };
    }
    code + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_told_from_text_about_them() {
        for kernel in [
            "extern \"C\" __global__ void f() {}",
            "template <class T>\n__global__ __launch_bounds__(128) void f(T*) {",
            "void __global__ f() {}",
            "// text\n__global__ /* why */ void f(){}",
            "__attribute__((device)) int g; extern \"C\" __attribute__( (global) ) void f() {}",
        ] {
            assert!(is_kernel(kernel), "{kernel}");
        }
        for other in [
            "__global__",
            "// __global__ void f() {",
            "/* __global__ void f() { */ {",
            "my__global__ void {",
            "__attribute__((device)) void f() {}",
            "__global__ void f();",
            "/* __global__ void f() {",
        ] {
            assert!(!is_kernel(other), "{other}");
        }
    }
}
