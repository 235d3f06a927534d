//! JSON in which no character acts on a terminal, is not seen or reorders text, and in which a CI runner finds no command.
//! JSON itself demands that only of characters below U+0020, and a log shows the others as they are.

use std::io::{self, Write};

use lmem_base::inert::{is_active, replaced};

/// Writes JSON, where such characters are only part of strings, and escapes them.
pub(super) struct Inert<'w>(pub(super) &'w mut dyn Write);

impl Write for Inert<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The serializer writes strings in pieces of whole characters.
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(is_escaped) || text.contains("##") => {
                // A command stands in one piece: no letter of it is written as an escape.
                self.0.write_all(replaced(&escaped(text), "\\u0023").as_bytes())?;
            }
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
            true => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
            false => out.push(letter),
        }
    }
    out
}

/// White space between values is not part of a string.
fn is_escaped(letter: char) -> bool {
    is_active(letter) && letter > '\u{20}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_the_same_to_a_reader() {
        let value =
            serde_json::json!({ "a\u{9b}": ["\u{202e}x\u{7f}", "\n\t\u{1b}", "é\u{1F9E0}\u{e0041}", "\"##vso[a]\""] });
        let mut text = Vec::new();
        serde_json::to_writer_pretty(&mut Inert(&mut text), &value).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            !text.contains(is_escaped) && text.contains("\\u202e") && !text.contains("##") && text.contains('é'),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
