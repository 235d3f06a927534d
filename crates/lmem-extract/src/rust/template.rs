//! Templates of `format!`: text and holes.

use std::ops::Range;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Byte range of literal text; a doubled brace contributes one brace.
    Text(Range<usize>),
    Hole(Hole),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hole {
    Position(usize),
    Name(String),
}

/// Splits a template into pieces.
///
/// # Errors
/// The template uses a format specification, not just plain values.
pub(super) fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let mut found = Vec::new();
    let mut next = 0;
    let mut start = 0;
    let mut at = 0;
    let bytes = template.as_bytes();
    while at < bytes.len() {
        if !matches!(bytes[at], b'{' | b'}') {
            at += 1;
            continue;
        }
        if bytes.get(at + 1) == bytes.get(at) {
            found.push(Piece::Text(start..at + 1));
            at += 2;
            start = at;
            continue;
        }
        let length = template[at..].find('}').filter(|_| bytes[at] == b'{');
        let Some(length) = length else { return Err("its template cannot be read".to_string()) };
        found.push(Piece::Text(start..at));
        found.push(Piece::Hole(hole(&template[at + 1..at + length], &mut next)?));
        at += length + 1;
        start = at;
    }
    found.push(Piece::Text(start..template.len()));
    found.retain(|piece| !matches!(piece, Piece::Text(range) if range.is_empty()));
    Ok(found)
}

fn hole(inside: &str, next: &mut usize) -> Result<Hole, String> {
    let (name, how) = inside.split_once(':').unwrap_or((inside, ""));
    if !how.trim().is_empty() {
        return Err(format!("`{{{inside}}}` makes a part of its text"));
    }
    let name = name.trim();
    if name.is_empty() {
        *next += 1;
        return Ok(Hole::Position(*next - 1));
    }
    Ok(name.parse().map_or_else(|_| Hole::Name(name.to_string()), Hole::Position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_taken_apart() {
        let text = |range| Piece::Text(range);
        let position = |index| Piece::Hole(Hole::Position(index));
        let name = |name: &str| Piece::Hole(Hole::Name(name.to_string()));
        assert_eq!(pieces("a{}b{}").unwrap(), [text(0..1), position(0), text(3..4), position(1)]);
        assert_eq!(pieces("{1}{ N }{}").unwrap(), [position(1), name("N"), position(0)]);
        assert_eq!(pieces("{{{N}}}é").unwrap(), [text(0..1), name("N"), text(5..6), text(7..9)]);
        assert_eq!(pieces("").unwrap(), []);
        for refused in ["{:?}", "{N:>8}", "{", "}", "a } b", "{é"] {
            assert!(pieces(refused).is_err(), "{refused}");
        }
    }
}
