//! Searches the bytes of a Rust file, which is much faster than lexing it.

use memchr::memmem;

/// Whether a file contains a name as a whole word. Lexing is much slower, and short names are parts of many others.
pub(super) fn holds_word(bytes: &[u8], finder: &memmem::Finder<'_>) -> bool {
    words_in(bytes, finder).next().is_some()
}

/// Offsets of a name as a whole word.
pub(in crate::rust) fn words_in(bytes: &[u8], finder: &memmem::Finder<'_>) -> impl Iterator<Item = usize> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    finder.find_iter(bytes).filter(move |at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !is_part(before) && !is_part(bytes.get(at + finder.needle().len()))
    })
}

/// Whether the text after a name makes it a call or an alias: `(`, `::<T>(`, `as other`.
pub(super) fn is_called(behind: &[u8]) -> bool {
    let rest = behind.trim_ascii_start();
    let is_generic = || rest.strip_prefix(b"::").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"<"));
    let is_renamed = || {
        rest.len() < behind.len()
            && rest.strip_prefix(b"as").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))
    };
    rest.starts_with(b"(") || is_generic() || is_renamed()
}

/// Whether `fn` precedes an offset.
pub(super) fn follows_fn(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].trim_ascii_end();
    let word = before.strip_suffix(b"fn").filter(|_| before.len() < at);
    word.is_some_and(|rest| !rest.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
}

/// The names defined by `macro_rules!` in a file.
pub(super) fn defined_macros(bytes: &[u8]) -> Vec<String> {
    const KEYWORD: &[u8] = b"macro_rules";
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name_at = |at: usize| {
        let rest = bytes[at + KEYWORD.len()..].trim_ascii_start().strip_prefix(b"!")?.trim_ascii_start();
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        String::from_utf8(rest[..length].to_vec()).ok()
    };
    memmem::find_iter(bytes, KEYWORD).filter_map(name_at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_definitions_are_seen_without_tokens() {
        let finder = memmem::Finder::new("w");
        let calls = |text: &str| words_in(text.as_bytes(), &finder).any(|at| is_called(&text.as_bytes()[at + 1..]));
        for text in ["w(1)", "a.w (1)", "b::w::<T>(1)", "w :: <T>(1)", "use a::{w as v};", "w\n(1)"] {
            assert!(calls(text), "{text}");
        }
        for text in ["let w = 1;", "w::x()", "w::X::<T>()", "new(w)", "w.x()", "w assert", "was(1)"] {
            assert!(!calls(text), "{text}");
        }
        let defines = |text: &str| words_in(text.as_bytes(), &finder).any(|at| follows_fn(text.as_bytes(), at));
        assert!(
            defines("pub fn w() {}")
                && defines("fn\n w<T>()")
                && !defines("w()")
                && !defines("a_fn w")
                && !defines("w")
        );
    }

    #[test]
    fn macros_are_seen_without_tokens() {
        assert_eq!(defined_macros(b"macro_rules! a { } #[x] macro_rules !\nb_2{ macro_rules a }"), ["a", "b_2"]);
    }

    #[test]
    fn parts_of_names_are_no_names() {
        let holds = |text: &str, name: &str| holds_word(text.as_bytes(), &memmem::Finder::new(name));
        assert!(holds("new(w);", "w") && holds("w", "w") && holds("a::w!(x)", "w!") && holds("\u{e9}w", "w"));
        assert!(!holds("new window w2 _w", "w") && !holds("unload_ptx()", "load_ptx"));
    }
}
