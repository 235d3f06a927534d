//! `.loc` directives: source locations with the chain of inlined calls.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Body, Parser};
use crate::lexer::Kind;
use crate::module::Location;

/// State of the `.loc` directives of one function.
#[derive(Default)]
pub(super) struct Locations {
    current: Option<usize>,
    /// If the last location has line 0: the location before it.
    interrupted: Option<usize>,
    /// The newest location at each (file, line, column), to resolve `inlined_at`.
    places: HashMap<(u32, u32, u32), usize>,
}

impl Locations {
    pub fn current(&self) -> Option<u32> {
        self.current.and_then(|index| u32::try_from(index).ok())
    }
}

/// Whether a location has the position of another one, without `inlined_at` of its own.
fn is_same_line(location: &Location, other: &Location) -> bool {
    let place = |location: &Location| (location.file, location.line, location.column);
    place(location) == place(other) && location.inlined_at.is_none() && location.line > 0
}

impl<'a> Parser<'a> {
    fn place(&mut self, line: u32) -> Option<(u32, u32, u32)> {
        let mut number = || match self.lexer.peek().filter(|token| token.line == line)?.kind {
            Kind::Number(number) => {
                self.lexer.next();
                number.parse::<u32>().ok()
            }
            _ => None,
        };
        Some((number()?, number()?, number()?))
    }

    /// `.loc 2 5193 1, function_name $L__info_string0, inlined_at 1 24 3`
    pub(super) fn loc(&mut self, body: &mut Body<'a>, line: u32) {
        let place = self.place(line);
        let (mut label, mut caller) = (None, None);
        while let Some(token) = self.lexer.peek().filter(|token| token.line == line) {
            if matches!(token.kind, Kind::Sign(b'{' | b'}' | b'@')) {
                break;
            }
            self.lexer.next();
            match token.kind {
                Kind::Word("function_name") => label = self.lexer.take_word(),
                Kind::Word("inlined_at") => caller = self.place(line),
                _ => {}
            }
        }
        let Some(place) = place else { return };
        let function = label.map(|label| self.name(label));
        body.locations.add(&mut body.function.locations, place, caller, function);
    }
}

impl Locations {
    fn add(
        &mut self,
        locations: &mut Vec<Location>,
        (file, line, column): (u32, u32, u32),
        caller: Option<(u32, u32, u32)>,
        function: Option<Arc<str>>,
    ) {
        let inlined_at = caller.map(|caller| {
            // The compiler emits the call site before it refers to it; if it did not, only the position is known.
            *self.places.entry(caller).or_insert_with(|| {
                let (file, line, column) = caller;
                locations.push(Location { file, line, column, inlined_at: None, function: None });
                locations.len() - 1
            })
        });
        let mut location = Location { file, line, column, inlined_at, function };
        // Code without a line may interrupt a statement. The compiler then resumes the statement without repeating
        // `inlined_at`, so the inline chain is copied from before.
        let interrupted = self.interrupted.take();
        if let Some(before) = interrupted.map(|before| &locations[before])
            && is_same_line(&location, before)
        {
            location = before.clone();
        }
        if line == 0 {
            self.interrupted = self.current.filter(|before| locations[*before].line > 0).or(interrupted);
        }
        locations.push(location);
        let index = locations.len() - 1;
        self.places.insert((file, line, column), index);
        self.current = Some(index);
    }
}

/// Decodes a quoted file name: `\\`, `\"`, and non-ASCII bytes as `\303`.
pub fn unescape_path(quoted: &str) -> String {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.as_bytes();
    while let [first, tail @ ..] = rest {
        let octal =
            tail.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        let byte = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let (byte, length) = match (byte, first, tail) {
            (Some(byte), ..) => (byte, 4),
            (None, b'\\', [escaped @ (b'\\' | b'"'), ..]) => (*escaped, 2),
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_paths_are_decoded() {
        for (quoted, path) in
            [("/a b/k.cu", "/a b/k.cu"), ("/\\303\\274/k.cu", "/ü/k.cu"), (r#"a\\b\"c\9"#, r#"a\b"c\9"#), ("\\", "\\")]
        {
            assert_eq!(unescape_path(quoted), path);
        }
    }
}
