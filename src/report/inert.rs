//! JSON in which no character acts on a terminal, is not seen or reorders text, and in which a CI runner finds no command.
//! JSON itself demands that only of characters below U+0020, and a log shows the others as they are.

use std::io::{self, Write};

use lmem_base::inert::{in_json, is_escaped};

/// Writes JSON, where such characters are only part of strings, and escapes them.
pub(super) struct Inert<'w>(pub(super) &'w mut dyn Write);

impl Write for Inert<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The serializer writes strings in pieces of whole characters.
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(is_escaped) || text.contains("##") => {
                // A command stands in one piece: no letter of it is written as an escape.
                self.0.write_all(in_json(text).as_bytes())?;
            }
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
