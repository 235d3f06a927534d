//! The tokens of an expression.

/// A token and its position in the text.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind<'a> {
    /// A preprocessing number. Some are not numbers in the end: `1.5e+3`, `4_KiB`.
    Number(&'a str),
    /// A character literal with its quotes.
    Character(&'a str),
    Word(&'a str),
    Operator(&'static str),
}

/// Longest first. Operators that no constant expression has are listed too, so that `--1` is not read as `-(-1)`.
const OPERATORS: [&str; 44] = [
    "<=>", "<<=", ">>=", "->*", "...", "::", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "->", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", ".*", "+", "-", "*", "/", "%", "<", ">", "=", "!", "&", "|", "^", "~",
    "?", ":", "(", ")", ",",
];
const BRACKETS: [&str; 4] = ["{", "}", "[", "]"];

/// Operators with an alternative spelling as a word.
const WORDS: [(&str, &str); 8] = [
    ("and", "&&"),
    ("or", "||"),
    ("not", "!"),
    ("bitand", "&"),
    ("bitor", "|"),
    ("xor", "^"),
    ("compl", "~"),
    ("not_eq", "!="),
];

/// The tokens of a text without comments; `None` if some token cannot occur in a C++ expression.
pub fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += blank(&text[at..])?;
        let Some(first) = text[at..].chars().next() else { return Some(tokens) };
        let rest = &text[at..];
        let (kind, length) = if first.is_ascii_digit() || is_fraction(rest) {
            let length = number(rest);
            (TokenKind::Number(&rest[..length]), length)
        } else if is_of_name(first) {
            let length = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            let operator = WORDS.iter().find(|(spelled, _)| *spelled == word);
            (operator.map_or(TokenKind::Word(word), |(_, operator)| TokenKind::Operator(operator)), length)
        } else if first == '\'' {
            let length = character(rest)?;
            (TokenKind::Character(&rest[..length]), length)
        } else {
            let operator = OPERATORS.iter().chain(&BRACKETS).find(|operator| rest.starts_with(**operator))?;
            (TokenKind::Operator(operator), operator.len())
        };
        tokens.push(Token { kind, start: at, end: at + length });
        at += length;
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_fraction(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Length of the white space and comments before the next token; `None` for an unterminated comment.
fn blank(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            // A backslash at the end of a line continues the comment.
            let lines = comment.split_inclusive('\n');
            let length = to_end_of_line(lines);
            rest = &comment[length..];
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = &comment[comment.find("*/")? + 2..];
        } else if let Some(next) = rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n")) {
            rest = next;
        } else {
            return Some(text.len() - rest.len());
        }
    }
}

fn to_end_of_line<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let mut length = 0;
    for line in lines {
        length += line.len();
        if !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
            break;
        }
    }
    length
}

/// Length of a preprocessing number. By C++'s rule `0x1e+3` is one token, although it is not a number.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        at += match byte {
            b'e' | b'E' | b'p' | b'P' if matches!(next, Some(b'+' | b'-')) => 2,
            b'\'' if next.is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_') => 2,
            _ if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') => 1,
            _ => break,
        };
    }
    at
}

/// Length of a character literal.
fn character(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            '\'' if !escaped => return Some(at + 1),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    None
}
