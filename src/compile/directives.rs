//! Directives that a preprocessor leaves in its output.
//!
//! The front end would obey them: with `#define HASH #`, `HASH include "a.h"` is no directive for the preprocessor, which writes it out, and one
//! for the front end, which preprocesses again. It would read files that are not known to have been read. Nobody means that.

use std::ops::Range;

/// What is left of a directive in a message.
const MAX_SHOWN_BYTES: usize = 80;

/// The first directive of a preprocessed text that is neither a mark of the preprocessor's own nor a pragma.
pub fn stray(text: &[u8]) -> Option<String> {
    let mut found = marks(text).filter(|mark| !is_usual(text, mark)).peekable();
    // Nearly all texts have none, so that the strings of a text are seldom looked for.
    found.peek()?;
    let strings = raw_strings(text);
    let is_quoted = |mark: &Range<usize>| strings.iter().any(|string| string.contains(&mark.start));
    found.find(|mark| !is_quoted(mark)).map(|mark| shown(&text[mark.start..]))
}

/// The marks that begin a directive, where they come first on a line.
fn marks(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let of = move |mark: &'static [u8]| memchr::memmem::find_iter(text, mark).map(move |at| at..at + mark.len());
    // Digraphs and trigraphs are the same.
    let all = of(b"#").chain(of(b"%:")).chain(of(b"??="));
    all.filter(move |mark| is_first(&text[..mark.start]))
}

/// Whether nothing but space comes before on the line. A line may end in a carriage return alone.
fn is_first(before: &[u8]) -> bool {
    let last = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | 0));
    last.is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Whether a directive is a mark of a line in the preprocessor's own form, which starts a line, or one that names no file.
fn is_usual(text: &[u8], mark: &Range<usize>) -> bool {
    let starts_line = mark.start == 0 || text[mark.start - 1] == b'\n';
    let rest = &text[mark.end..];
    if starts_line && rest.first() == Some(&b' ') && rest.get(1).is_some_and(u8::is_ascii_digit) {
        return true;
    }
    let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let word: &[u8] = &rest[space..];
    let length = word.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    matches!(&word[..length], b"pragma" | b"ident")
}

fn shown(directive: &[u8]) -> String {
    let line = directive.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    String::from_utf8_lossy(&line[..line.len().min(MAX_SHOWN_BYTES)]).trim().to_string()
}

/// The raw strings of a text without comments: their lines are no directives, whatever they begin with.
fn raw_strings(text: &[u8]) -> Vec<Range<usize>> {
    let mut strings = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        at += match rest[0] {
            b'#' if is_first(&text[..at]) => {
                let length = line(rest);
                // Whether a raw string of a pragma goes on behind the line is not agreed upon.
                if memchr::memmem::find(&rest[..length], b"R\"").is_some() {
                    return Vec::new();
                }
                length
            }
            quote @ (b'"' | b'\'') => quoted(rest, quote),
            byte if byte.is_ascii_digit() => number(rest),
            byte if is_letter(byte) => {
                let name = rest.iter().take_while(|byte| is_letter(**byte) || byte.is_ascii_digit()).count();
                let is_raw = matches!(&rest[..name], b"R" | b"LR" | b"uR" | b"UR" | b"u8R");
                match is_raw.then(|| raw(&rest[name..])).flatten() {
                    Some(length) => {
                        strings.push(at + name..at + name + length);
                        name + length
                    }
                    None => name,
                }
            }
            _ => 1,
        };
    }
    strings
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn line(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}

/// A string or character, to its end or that of the line.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != b'\n' {
        match text[at] {
            b'\\' if text.get(at + 1).is_some_and(|byte| *byte != b'\n') => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at.min(text.len())
}

/// A number with all that belongs to it: `'` separates digits.
fn number(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        let is_sign = matches!(byte, b'+' | b'-') && matches!(text[at - 1], b'e' | b'E' | b'p' | b'P');
        let separates =
            *byte == b'\'' && text.get(at + 1).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_');
        if !(is_letter(*byte) || byte.is_ascii_digit() || *byte == b'.' || is_sign || separates) {
            break;
        }
        at += 1;
    }
    at
}

/// The length of a raw string from its quotation mark on; `None` if it is none, or does not end.
fn raw(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"\"")?;
    let open = rest.iter().take(17).position(|byte| *byte == b'(')?;
    let mark = &rest[..open];
    if mark.iter().any(|byte| matches!(byte, b'"' | b')' | b'\\' | b' ' | b'\t' | 0x0b | 0x0c | b'\n' | b'\r')) {
        return None;
    }
    let close = [b")", mark, b"\""].concat();
    let end = memchr::memmem::find(&rest[open + 1..], &close)?;
    Some(1 + open + 1 + end + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_preprocessor_writes_is_usual() {
        for text in [
            "# 1 \"a.cu\"\n# 1 \"/x.h\" 1 3\nint a;\n#pragma once\n",
            "int a;\n  #pragma unroll\n#ident \"x\"\n",
            "int a = b # c;\n",
            "auto a = \"\\\n# include\";\n",
            "auto a = R\"(\n#include <a.h>\n # define X\n)\";\n",
            "auto a = u8R\"x(\n)\"\n#include <a.h>\n)x\";\n",
            "int a = 1'000; auto b = 0x1p-3; auto c = R\"(\n#include <a.h>\n)\"; char d = '\"';\n",
        ] {
            let text = text.replace("\\\n", "");
            assert_eq!(stray(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_the_front_end_would_obey_is_named() {
        for (text, expected) in [
            (" # include <a.h>\n", "# include <a.h>"),
            ("int a;\n\t#include_next \"a.h\"\n", "#include_next \"a.h\""),
            ("#import <a.h>", "#import <a.h>"),
            ("int a;\r#include <a.h>\r\n", "#include <a.h>"),
            ("\x0b\x0c %: include <a.h>\n", "%: include <a.h>"),
            ("??= include <a.h>\n", "??= include <a.h>"),
            ("# define F <a.h>\n", "# define F <a.h>"),
            (" # 1 \"/elsewhere\"\n", "# 1 \"/elsewhere\""),
            ("# F <a.h>\n", "# F <a.h>"),
            // No raw strings.
            ("FR\"(\n#include <a.h>\n)\";\n", "#include <a.h>"),
            ("auto a = \"R\"(\n#include <a.h>\n)\";\n", "#include <a.h>"),
            ("char a = '\"'; auto b = \"R\\\"(\";\n#include <a.h>\n// )\"\n", "#include <a.h>"),
            ("auto a = R\"(\n)\";\n#include <a.h>\n", "#include <a.h>"),
            ("R\"a b(\n#include <a.h>\n)a b\"\n", "#include <a.h>"),
            ("#pragma R\"(\n#include <a.h>\n)\"\n", "#include <a.h>"),
            ("#pragma R\"x(\nR\"y(\n)x\"\n#include <a.h>\n)y\"\n", "#include <a.h>"),
            ("int a = 1'0R\"(\n#include <a.h>\n)\";\n", "#include <a.h>"),
        ] {
            assert_eq!(stray(text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_long_directive_is_cut() {
        assert_eq!(stray(format!("#include <{}>", "a".repeat(200)).as_bytes()).unwrap().len(), MAX_SHOWN_BYTES);
    }
}
