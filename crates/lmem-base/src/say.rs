//! Messages on stderr. A failed write (a full disk, a closed pipe) does not stop the run. Control characters are
//! removed: a file name or a compiler's message must not control the terminal.

use std::io::Write;

/// Prints a line that may contain text from the workspace.
pub fn line(text: &str) {
    // A failed write to stderr cannot be reported anywhere.
    drop(writeln!(anstream::stderr(), "{}", plain(text)));
}

/// Prints our own text with its colours.
pub fn styled(text: &str) {
    drop(write!(anstream::stderr(), "{text}"));
}

/// The text without terminal control characters.
pub fn plain(text: &str) -> String {
    let is_active = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    text.replace(is_active, "\u{fffd}")
}

/// A name without characters that act on a terminal, begin a line (a CI runner reads commands there) or reorder text.
pub fn inert(name: &str) -> String {
    let reorders = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    name.replace(|letter: char| letter.is_control() || reorders(letter), "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line() {
        assert_eq!(inert("a\n::error::b\t\u{202e}c é\u{200c}"), "a\u{fffd}::error::b\u{fffd}\u{fffd}c é\u{200c}");
    }

    #[test]
    fn terminals_are_not_written_to() {
        assert_eq!(plain("a\n\tb\x1b[2J\r\u{9b}"), "a\n\tb\u{fffd}[2J\u{fffd}\u{fffd}");
    }
}
