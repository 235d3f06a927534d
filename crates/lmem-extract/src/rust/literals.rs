//! String literals: decoded text, with the source position of each byte.

use std::ops::Range;
use std::sync::Arc;

use rustc_literal_escaper::unescape_str;

use lmem_base::source::{SourceFile, Span};
use lmem_unit::MappedText;

/// Decodes the string literal in a range, quotes included.
///
/// Byte and C strings are decoded as text too. `None` for other literals, and for literals that rustc rejects.
pub(super) fn decode(file: &Arc<SourceFile>, literal: Range<usize>) -> Option<MappedText> {
    let source = file.text().get(literal.clone())?;
    let plain = source.strip_prefix(['b', 'c']).unwrap_or(source);
    let start = literal.end - plain.len();
    if let Some(raw) = plain.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let content = raw.get(hashes..)?.strip_prefix('"')?.strip_suffix(&raw[..hashes])?.strip_suffix('"')?;
        return Some(decode_raw(file, content, start + 1 + hashes + 1));
    }
    let content = plain.strip_prefix('"')?.strip_suffix('"')?;
    decode_escaped(file, content, start + 1)
}

/// rustc converts `\r\n` to `\n` before lexing, in raw strings too.
fn decode_raw(file: &Arc<SourceFile>, content: &str, start: usize) -> MappedText {
    let mut text = MappedText::default();
    let mut from = 0;
    for (at, _) in content.match_indices("\r\n") {
        text.push(&content[from..at], Span::new(file, start + from..start + at));
        text.push("\n", Span::new(file, start + at..start + at + 2));
        from = at + 2;
    }
    text.push(&content[from..], Span::new(file, start + from..start + content.len()));
    text
}

fn decode_escaped(file: &Arc<SourceFile>, content: &str, start: usize) -> Option<MappedText> {
    let lines = LineEnds::of(content);
    let mut text = MappedText::default();
    let mut run = Run::default();
    let mut failed = false;
    let mut flush = |run: &mut Run| {
        let range = lines.place(run.range.clone());
        text.push(&run.text, Span::new(file, start + range.start..start + range.end));
        run.text.clear();
    };
    unescape_str(&lines.text, |range, result| match result {
        Ok(character) => {
            let is_verbatim = lines.is_verbatim(&range, character);
            if !(is_verbatim && run.is_verbatim && run.range.end == range.start) {
                flush(&mut run);
                run = Run { text: String::new(), range: range.clone(), is_verbatim };
            }
            run.text.push(character);
            run.range.end = range.end;
        }
        Err(error) => failed |= error.is_fatal(),
    });
    flush(&mut run);
    (!failed).then_some(text)
}

/// Characters that form a unit: one escape, or text that the source has unchanged.
#[derive(Default)]
struct Run {
    text: String,
    range: Range<usize>,
    is_verbatim: bool,
}

/// Text with `\n` for `\r\n`, and the mapping to offsets in the original.
struct LineEnds {
    text: String,
    /// Offsets in `text` of line feeds that followed a carriage return.
    shortened: Vec<usize>,
}

impl LineEnds {
    fn of(content: &str) -> Self {
        let mut shortened = Vec::new();
        for (count, (at, _)) in content.match_indices("\r\n").enumerate() {
            shortened.push(at - count);
        }
        Self { text: content.replace("\r\n", "\n"), shortened }
    }

    fn place(&self, range: Range<usize>) -> Range<usize> {
        let original = |offset: usize| offset + self.shortened.partition_point(|line_feed| *line_feed < offset);
        original(range.start)..original(range.end)
    }

    fn is_verbatim(&self, range: &Range<usize>, character: char) -> bool {
        let stands_there = self.text.get(range.clone()).is_some_and(|text| text.chars().eq([character]));
        stands_there && self.place(range.clone()).len() == range.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(source: &str) -> MappedText {
        let file = SourceFile::from_text("a.rs", source);
        decode(&file, 0..source.len()).unwrap()
    }

    /// The source text of every decoded character.
    fn pieces(source: &str) -> Vec<(String, String)> {
        let text = decoded(source);
        let characters = text.as_str().char_indices();
        let piece = |(at, character): (usize, char)| {
            let span = text.span(at..at + character.len_utf8()).unwrap();
            (character.to_string(), span.text().to_string())
        };
        characters.map(piece).collect()
    }

    fn pair(left: &str, right: &str) -> (String, String) {
        (left.to_string(), right.to_string())
    }

    #[test]
    fn every_escape_has_its_place() {
        let source = r#""a\n\x41\u{e9}é\"\\z""#;
        let expected = [
            ("a", "a"),
            ("\n", r"\n"),
            ("A", r"\x41"),
            ("é", r"\u{e9}"),
            ("é", "é"),
            ("\"", r#"\""#),
            ("\\", r"\\"),
            ("z", "z"),
        ];
        assert_eq!(pieces(source), expected.map(|(left, right)| pair(left, right)));
    }

    #[test]
    fn continued_lines_mean_nothing() {
        for source in ["\"ab\\\n    cd\"", "\"ab\\\r\n    cd\"", "\"ab\\\n\n    cd\""] {
            let text = decoded(source);
            assert_eq!(text.as_str(), "abcd");
            assert_eq!(text.span(2..4).unwrap().text(), "cd");
        }
    }

    #[test]
    fn carriage_returns_before_line_feeds_are_not_meant() {
        for source in ["\"ab\r\ncd\r\n\\n\"", "r\"ab\r\ncd\r\n\n\"", "r##\"ab\r\ncd\r\n\n\"##"] {
            let text = decoded(source);
            assert_eq!(text.as_str(), "ab\ncd\n\n");
            assert_eq!(text.span(2..3).unwrap().text(), "\r\n");
            assert_eq!(text.span(3..5).unwrap().text(), "cd");
            assert_eq!(text.span(1..4).unwrap().text(), "b\r\nc");
        }
    }

    #[test]
    fn raw_strings_stand_as_they_are() {
        let text = decoded("r#\"a\\n\"é\"#");
        assert_eq!(text.as_str(), "a\\n\"é");
        assert_eq!(text.span(4..6).unwrap().text(), "é");
        assert_eq!(decoded("cr#\"\\n\"#").span(0..2).unwrap().text(), "\\n");
        assert_eq!(decoded("c\"\\n.\"").span(1..2).unwrap().text(), ".");
        assert_eq!(decoded("r\"\"").as_str(), "");
        assert_eq!(decoded("\"\"").as_str(), "");
    }

    #[test]
    fn other_literals_are_none() {
        for source in ["'a'", "b'a'", "12", "\"\\q\"", "\"a\rb\"", "r#\"a\"", "\"", "r", "\"\\u{110000}\""] {
            let file = SourceFile::from_text("a.rs", source);
            assert!(decode(&file, 0..source.len()).is_none(), "{source}");
        }
    }
}
