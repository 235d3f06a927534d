//! C++ preprocessing tokens, for comparing texts.

use std::ops::Range;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    Identifier,
    /// A preprocessing number: `0x10u`, `1.5e-3f`.
    Number,
    /// A string or character literal with its prefix and quotes.
    Literal,
    Punctuation,
    /// A directive from its `#` to the end of its logical line.
    Directive,
}

/// A token and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Line of the first byte, from 1.
    pub line: u32,
}

/// Longest first: the first match is the token.
const PUNCTUATION: [&str; 27] = [
    "<<=", ">>=", "<=>", "->*", "...", "<<", ">>", "::", "->", ".*", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "==", "!=", "<=", ">=", "&&", "||", "##",
];

/// The tokens of a text, without comments and white space.
pub fn tokens(text: &str) -> Vec<Token> {
    each(text).collect()
}

/// The same one by one: a table of numbers has a token for each two bytes of its text.
pub fn each(text: &str) -> Tokens<'_> {
    Tokens { text, at: 0, line: 1, is_first_of_line: true }
}

/// The tokens of a part of a text that begins with one.
pub(super) fn of_part(text: &str, begins_with_directive: bool) -> Tokens<'_> {
    let is_first_of_line = begins_with_directive;
    Tokens { text, at: 0, line: 1, is_first_of_line }
}

/// Tokens, cut when they are asked for.
#[derive(Clone)]
pub struct Tokens<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    is_first_of_line: bool,
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        while let Some(byte) = self.peek(0) {
            let start = self.at;
            match byte {
                b'\n' => {
                    self.is_first_of_line = true;
                    self.advance(1);
                    continue;
                }
                b'\\' if self.splice() > 0 => {
                    let length = self.splice();
                    self.advance(length);
                    continue;
                }
                _ if byte.is_ascii_whitespace() => {
                    self.advance(1);
                    continue;
                }
                b'/' if self.peek(1) == Some(b'/') => {
                    self.line_end();
                    continue;
                }
                b'/' if self.peek(1) == Some(b'*') => {
                    self.block_comment();
                    continue;
                }
                _ => {}
            }
            let line = self.line;
            let kind = if byte == b'#' && self.is_first_of_line {
                self.directive();
                TokenKind::Directive
            } else {
                self.token(byte)
            };
            self.is_first_of_line = false;
            return Some(Token { kind, range: start..self.at, line });
        }
        None
    }
}

impl Tokens<'_> {
    fn token(&mut self, byte: u8) -> TokenKind {
        if let Some(length) = literal(self.rest()) {
            self.advance(length);
            return TokenKind::Literal;
        }
        let is_fraction = byte == b'.' && self.peek(1).is_some_and(|next| next.is_ascii_digit());
        if byte.is_ascii_digit() || is_fraction {
            let length = number(self.rest());
            self.advance(length);
            return TokenKind::Number;
        }
        if is_word(byte) {
            let length = self.rest().bytes().take_while(|byte| is_word(*byte)).count();
            self.advance(length);
            return TokenKind::Identifier;
        }
        let length = PUNCTUATION.iter().find(|it| self.rest().starts_with(*it)).map_or(1, |it| it.len());
        self.advance(length);
        TokenKind::Punctuation
    }

    /// Skips to the end of the logical line; a block comment may span several lines.
    fn directive(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => return,
                b'\\' if self.splice() > 0 => {
                    let length = self.splice();
                    self.advance(length);
                }
                b'/' if self.peek(1) == Some(b'/') => return,
                b'/' if self.peek(1) == Some(b'*') => {
                    self.block_comment();
                }
                b'"' | b'\'' => {
                    // `#include <a'b>` and `#error don't` have unmatched quotes.
                    let length = literal(self.rest()).unwrap_or(1);
                    self.advance(length);
                }
                _ => self.advance(1),
            }
        }
    }

    fn block_comment(&mut self) {
        let length = self.rest()[2..].find("*/").map_or(self.rest().len(), |end| end + 4);
        self.advance(length);
    }

    /// Skips a line comment, which a backslash continues.
    fn line_end(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => return,
                b'\\' if self.splice() > 0 => {
                    let length = self.splice();
                    self.advance(length);
                }
                _ => self.advance(1),
            }
        }
    }

    /// Length of a line splice (a backslash and a line ending); 0 if there is none.
    fn splice(&self) -> usize {
        match self.rest().as_bytes() {
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            _ => 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn advance(&mut self, length: usize) {
        let mut end = (self.at + length).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        let passed = &self.text.as_bytes()[self.at..end];
        self.line += u32::try_from(passed.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(0);
        self.at = end;
    }
}

/// Non-ASCII letters count.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Length of a preprocessing number: digits, letters, points, separators, and signs after exponents.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let is_sign = matches!(byte, b'+' | b'-') && length > 0 && matches!(bytes[length - 1] | 0x20, b'e' | b'p');
        let is_separator = *byte == b'\'' && bytes.get(length + 1).is_some_and(|next| is_word(*next));
        // By the standard, `0xe+1` is one token although it is not a number; the compiler reports it.
        if !(is_word(*byte) || *byte == b'.' || is_sign || is_separator) {
            break;
        }
        length += 1;
    }
    length
}

/// Length of the string or character literal at the start of a text.
fn literal(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // Nearly all tokens are none.
    if !matches!(bytes.first(), Some(b'"' | b'\'' | b'u' | b'U' | b'L' | b'R')) {
        return None;
    }
    let prefix = ["u8R", "uR", "UR", "LR", "u8", "R", "u", "U", "L", ""]
        .into_iter()
        .find(|prefix| text.starts_with(prefix) && matches!(bytes.get(prefix.len()), Some(b'"' | b'\'')))?;
    let quote = bytes[prefix.len()];
    if prefix.ends_with('R') && quote == b'"' {
        let open = text[prefix.len()..].find('(')? + prefix.len();
        let close = format!("){}\"", &text[prefix.len() + 1..open]);
        let end = text[open..].find(&close)?;
        return Some(open + end + close.len());
    }
    let mut at = prefix.len() + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' => return None,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| &text[token.range]).collect()
    }

    #[test]
    fn texts_are_cut_into_tokens() {
        for (text, expected) in [
            ("a+++b", &["a", "++", "+", "b"][..]),
            ("k<<<1, 2>>>(x)", &["k", "<<", "<", "1", ",", "2", ">>", ">", "(", "x", ")"]),
            ("1.5e-3f .5 0x1'000u 1+2", &["1.5e-3f", ".5", "0x1'000u", "1", "+", "2"]),
            ("a /* b */ c // d \\\n e\nf", &["a", "c", "f"]),
            (r#"u8"a\"b" L'c' R"x(a)" b)x" d"#, &[r#"u8"a\"b""#, "L'c'", r#"R"x(a)" b)x""#, "d"]),
            ("  # define X \\\n 1 /* 2\n */ 3\nx # y", &["# define X \\\n 1 /* 2\n */ 3", "x", "#", "y"]),
            ("größe = \"", &["größe", "=", "\""]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_know_their_lines() {
        let lines = tokens("a\nb /* \n */ c\n\nR\"(\n)\" d").into_iter().map(|token| token.line).collect::<Vec<_>>();
        assert_eq!(lines, [1, 2, 3, 5, 6]);
    }

    #[test]
    fn broken_text_ends() {
        for text in ["/*", "\"\\", "'", "R\"x(", "#\\", "\\", "é\"", "#include <a'b>\n\"", "/* é"] {
            tokens(text);
        }
    }
}
