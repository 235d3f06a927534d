//! Text of a checked tree that acts on nobody who reads it: a terminal, a CI runner's log, an eye.
//!
//! Runners read commands in what a program prints. GitHub Actions takes lines that begin with `::`, blanks left aside, and
//! `##[` anywhere; Azure Pipelines `##vso[` and TeamCity `##teamcity[` anywhere.

use std::borrow::Cow;

/// Whether a character acts on a terminal, reorders text, or is not seen: an invisible character makes two names look
/// alike. These are the control characters, and those that Unicode calls default ignorable, bidirectional controls, separators
/// of lines, signs that are blank or join others (Braille, Khitan, hieroglyphs, shorthand), marks that enclose the letter before
/// them, and characters of private use, which each font shows as it likes.
#[inline]
pub fn is_active(letter: char) -> bool {
    // Nearly all letters of reports are such.
    if letter.is_ascii() {
        return letter.is_ascii_control();
    }
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{20dd}'..='\u{20e0}' | '\u{20e2}'..='\u{20e4}' | '\u{2800}' | '\u{e000}'..='\u{f8ff}'
            | '\u{16fe4}' | '\u{13430}'..='\u{1345f}' | '\u{f0000}'..='\u{10ffff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{fffe}'..='\u{ffff}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A name on one line, without such characters.
pub fn name(text: &str) -> String {
    text.replace(is_active, "\u{fffd}")
}

/// A message without such characters. Its lines after the first are indented: what a tree says begins none.
pub fn message(text: &str) -> String {
    let text = text.replace(|letter| is_active(letter) && letter != '\n' && letter != '\t', "\u{fffd}");
    let mut lines = text.split('\n');
    let mut shown = lines.next().unwrap_or_default().to_string();
    for line in lines {
        let indent = if line.is_empty() || line.starts_with([' ', '\t']) { "\n" } else { "\n  " };
        shown.push_str(indent);
        shown.push_str(line);
    }
    without_commands(&shown).into_owned()
}

/// The text without commands to runners, in as many bytes: columns below a line stay right.
pub fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("##") && !text.contains("::") {
        return Cow::Borrowed(text);
    }
    let is_command = |line: &str| line.trim_start().starts_with("::");
    let begun = text.split_inclusive('\n').map(|line| match is_command(line) {
        true => Cow::Owned(line.replacen("::", "?:", 1)),
        false => Cow::Borrowed(line),
    });
    Cow::Owned(replaced(&begun.collect::<String>(), "?"))
}

/// The text with `sign` in place of the second `#` of commands that stand anywhere in a line.
pub fn replaced(text: &str, sign: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("##") {
        let (before, behind) = rest.split_at(at + 1);
        shown.push_str(before);
        let word = behind[1..].trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
        rest = match word.starts_with('[') {
            true => {
                shown.push_str(sign);
                &behind[1..]
            }
            false => behind,
        };
    }
    shown + rest
}

/// JSON, where such characters are only part of strings, with escapes in their place.
pub fn in_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match is_escaped(letter) {
            true => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}"))),
            false => shown.push(letter),
        }
    }
    replaced(&shown, "\\u0023")
}

/// White space between values is not part of a string.
pub fn is_escaped(letter: char) -> bool {
    is_active(letter) && letter > '\u{20}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line() {
        assert_eq!(name("a\n::error::b\t\u{202e}c é"), "a\u{fffd}::error::b\u{fffd}\u{fffd}c é");
        for invisible in [
            '\u{200b}',
            '\u{200d}',
            '\u{2028}',
            '\u{2029}',
            '\u{feff}',
            '\u{2066}',
            '\u{ad}',
            '\u{e0041}',
            '\u{2800}',
            '\u{16fe4}',
            '\u{13430}',
            '\u{e000}',
            '\u{20dd}',
            '\u{f0000}',
        ] {
            assert_eq!(name(&format!("k{invisible}.cu")), "k\u{fffd}.cu");
        }
    }

    #[test]
    fn terminals_are_not_written_to() {
        assert_eq!(message("a\n\tb\x1b[2J\r\u{9b}"), "a\n\tb\u{fffd}[2J\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_tree_begins_no_line() {
        assert_eq!(message("error: `a\nerror: b\n\n   c"), "error: `a\n  error: b\n\n   c");
        assert_eq!(message("a `\n::error file=b::c\n \t ::d::\u{2028}"), "a `\n  ?:error file=b::c\n \t ?:d::\u{fffd}");
        assert_eq!(message("::stop-commands::x"), "?:stop-commands::x");
        assert_eq!(message("a::b::c"), "a::b::c");
    }

    #[test]
    fn no_runner_finds_a_command() {
        let cases = [
            ("a ##vso[task.prependpath]b", "a #?vso[task.prependpath]b"),
            ("##[error]##[group]", "#?[error]#?[group]"),
            ("###[x] ##teamcity[x '1']", "##?[x] #?teamcity[x '1']"),
            ("## heading ## [a]", "## heading ## [a]"),
            ("a ## b[1]", "a ## b[1]"),
            ("##", "##"),
        ];
        for (text, shown) in cases {
            assert_eq!(without_commands(text), shown);
            assert_eq!(without_commands(text).len(), text.len());
        }
        assert_eq!(replaced("##vso[", "\\u0023"), "#\\u0023vso[");
    }
}
