//! Words on stderr. That nobody takes them (a full disk, a closed pipe) is no reason to stop, and a name or a compiler's
//! message must not be able to write to the terminal.

use std::io::Write;

/// A line whose text may come from the workspace.
pub fn line(text: &str) {
    // There is no place left where this could be said.
    drop(writeln!(anstream::stderr(), "{}", plain(text)));
}

/// Text of our own, with its colours.
pub fn styled(text: &str) {
    drop(write!(anstream::stderr(), "{text}"));
}

/// The text without characters that terminals act on.
pub fn plain(text: &str) -> String {
    let is_active = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    text.replace(is_active, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_written_to() {
        assert_eq!(plain("a\n\tb\x1b[2J\r\u{9b}"), "a\n\tb\u{fffd}[2J\u{fffd}\u{fffd}");
    }
}
