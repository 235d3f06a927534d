//! JSON in which no character acts on a terminal or reorders text. JSON itself demands that only of characters below
//! U+0020, and a log shows the others as they are.

use std::io::{self, Write};

use super::excerpt::is_unsafe;

/// Writes JSON, where such characters are only part of strings, and escapes them.
pub(super) struct Inert<'w>(pub(super) &'w mut dyn Write);

impl Write for Inert<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The serializer writes strings in pieces of whole characters.
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(is_escaped) => self.0.write_all(escaped(text).as_bytes())?,
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match is_escaped(letter) {
            // All of them have four digits.
            true => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            false => out.push(letter),
        }
    }
    out
}

/// White space between values is not part of a string.
fn is_escaped(letter: char) -> bool {
    is_unsafe(letter) && letter > '\u{20}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_the_same_to_a_reader() {
        let value = serde_json::json!({ "a\u{9b}": ["\u{202e}x\u{7f}", "\n\t\u{1b}", "é\u{1F9E0}"] });
        let mut text = Vec::new();
        serde_json::to_writer_pretty(&mut Inert(&mut text), &value).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(is_escaped) && text.contains("\\u202e") && text.contains('é'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
