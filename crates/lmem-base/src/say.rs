//! Messages on stderr. A failed write (a full disk, a closed pipe) does not stop the run. Whatever a message quotes is made
//! inert here: a file name or a compiler's message must not control a terminal or a CI runner.

use std::io::Write;

use crate::inert;

/// Prints a message that may contain text from the workspace. A hint is a message of its own.
pub fn line(text: &str) {
    // A failed write to stderr cannot be reported anywhere.
    drop(writeln!(anstream::stderr(), "{}", inert::message(text)));
}

/// Prints our own text with its colours.
pub fn styled(text: &str) {
    drop(write!(anstream::stderr(), "{}", inert::without_commands(text)));
}
