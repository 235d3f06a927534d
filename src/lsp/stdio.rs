//! The connection to an editor on stdin and stdout.
//!
//! `lsp_server` makes room for as many bytes as a header names before the first of them is there, so that a wrong length ends
//! the process. Here messages have a limit, and a longer one is skipped.

use std::io::{self, BufRead, Read};
use std::thread::JoinHandle;

use lsp_server::{Connection, Message};

/// Editors send whole files, which have at most 64 MiB; escapes may make each byte several.
const MAX_MESSAGE_BYTES: u64 = 256 << 20;

/// For all header lines of a message.
const MAX_HEADER_BYTES: u64 = 8 << 10;

/// The threads that read and write.
pub struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits until the editor has said all, and has been told all.
    ///
    /// # Errors
    /// What the editor sent is no message, or the editor is gone.
    pub fn join(self) -> io::Result<()> {
        let ended = |thread: JoinHandle<io::Result<()>>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the connection panicked")))
        };
        ended(self.reader).and(ended(self.writer))
    }
}

/// Connects to an editor.
pub fn connect() -> (Connection, Threads) {
    let (server, Connection { sender, receiver }) = Connection::memory();
    let reader = std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(message) = next_message(&mut input, MAX_MESSAGE_BYTES)? {
            let is_exit = matches!(&message, Message::Notification(it) if it.method == "exit");
            if sender.send(message).is_err() || is_exit {
                break;
            }
        }
        Ok(())
    });
    let writer = std::thread::spawn(move || {
        let mut output = io::stdout().lock();
        receiver.into_iter().try_for_each(|message| message.write(&mut output))
    });
    (server, Threads { reader, writer })
}

/// The next message that is not too long; `None` at the end.
fn next_message(input: &mut dyn BufRead, limit: u64) -> io::Result<Option<Message>> {
    while let Some(length) = length_of_next(input)? {
        let mut body = (&mut *input).take(length);
        if length > limit {
            io::copy(&mut body, &mut io::sink())?;
            continue;
        }
        let mut message = format!("Content-Length: {length}\r\n\r\n").into_bytes();
        // What did not come takes no memory.
        body.read_to_end(&mut message)?;
        return Message::read(&mut message.as_slice());
    }
    Ok(None)
}

/// The length that the next header names; `None` at the end.
fn length_of_next(input: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let malformed = |line: &str| io::Error::new(io::ErrorKind::InvalidData, format!("malformed header {line:?}"));
    let mut header = input.take(MAX_HEADER_BYTES);
    let mut length = None;
    loop {
        let mut line = String::new();
        if header.read_line(&mut line)? == 0 {
            return if header.limit() == 0 { Err(malformed("of more than 8 KiB")) } else { Ok(None) };
        }
        match (line.strip_suffix("\r\n"), length) {
            (Some(""), Some(length)) => return Ok(Some(length)),
            (Some(field), _) => {
                let (name, value) = field.split_once(':').ok_or_else(|| malformed(field))?;
                if name.eq_ignore_ascii_case("Content-Length") {
                    length = Some(value.trim().parse().map_err(|_| malformed(field))?);
                }
            }
            (None, _) => return Err(malformed(&line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}";

    /// The methods of all messages, and the error at the end.
    fn heard(mut input: &[u8]) -> (Vec<String>, Option<io::ErrorKind>) {
        let mut methods = Vec::new();
        loop {
            match next_message(&mut input, 64) {
                Ok(Some(Message::Notification(notification))) => methods.push(notification.method),
                Ok(Some(other)) => methods.push(format!("{other:?}")),
                Ok(None) => return (methods, None),
                Err(error) => return (methods, Some(error.kind())),
            }
        }
    }

    fn message(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn messages_that_are_too_long_are_skipped() {
        let long = message(&format!("{{\"method\":\"{}\"}}", "x".repeat(80)));
        let typed = format!("content-length:{}\r\nContent-Type: x; charset=utf-8\r\n\r\n{EXIT}", EXIT.len());
        assert_eq!(heard(format!("{}{long}{typed}", message(EXIT)).as_bytes()), (vec!["exit".into(); 2], None));
        assert_eq!(heard(b"Content-Length: 10000000000000\r\n\r\n{"), (Vec::new(), None));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let is_refused =
            |input: &str| assert_eq!(heard(input.as_bytes()).1, Some(io::ErrorKind::InvalidData), "{input:.80}");
        is_refused("Content-Length: 99999999999999999999999\r\n\r\n{}");
        is_refused("Content-Length: -1\r\n\r\n{}");
        is_refused("Content-Length 2\r\n\r\n{}");
        is_refused("\r\n{}");
        is_refused("Content-Length: 2\n\n{}");
        is_refused(&"x".repeat(9 << 10));
        is_refused(&format!("{}Content-Length: 2\r\n\r\n", "X: y\r\n".repeat(2000)));
        assert!(heard(message("{").as_bytes()).1.is_some());
        assert!(heard(&message(EXIT).as_bytes()[..40]).1.is_some());
    }
}
