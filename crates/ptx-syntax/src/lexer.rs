//! PTX tokens with their line. Comments and white space are skipped.

/// A token's kind and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// A name, an opcode with its modifiers, a directive with its dot, a register with `%`.
    Word(&'a str),
    /// A token that starts with a digit: `12`, `0x1F`, `0f3F800000`, `1.5e-3`, `5U`.
    Number(&'a str),
    /// A string without its quotes; escapes are kept.
    Text(&'a str),
    /// One of `{}()[]<>,;:@!|=+-*`, or any other single character.
    Sign(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub kind: Kind<'a>,
    pub line: u32,
}

/// A lexer with two tokens of lookahead.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Tokens in the lookahead, each with the offset after it.
    ahead: [Option<Token<'a>>; 2],
    /// The line of the last consumed token.
    pub last_line: u32,
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.') || byte >= 0x80
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, ahead: [None, None], last_line: 1 }
    }

    pub fn peek(&mut self) -> Option<Token<'a>> {
        if self.ahead[0].is_none() {
            self.ahead[0] = self.ahead[1].take();
        }
        if self.ahead[0].is_none() {
            self.ahead[0] = self.read();
        }
        self.ahead[0]
    }

    /// The token after the next.
    pub fn peek_second(&mut self) -> Option<Token<'a>> {
        self.peek()?;
        if self.ahead[1].is_none() {
            self.ahead[1] = self.read();
        }
        self.ahead[1]
    }

    pub fn next(&mut self) -> Option<Token<'a>> {
        self.peek();
        let token = self.ahead[0].take()?;
        self.last_line = token.line;
        Some(token)
    }

    /// Consumes the next token if it is this sign.
    pub fn take_sign(&mut self, sign: u8) -> bool {
        let is_it = self.is_sign(sign);
        if is_it {
            self.next();
        }
        is_it
    }

    pub fn is_sign(&mut self, sign: u8) -> bool {
        self.peek().is_some_and(|token| token.kind == Kind::Sign(sign))
    }

    /// Consumes the next token if it is a word.
    pub fn take_word(&mut self) -> Option<&'a str> {
        let Kind::Word(word) = self.peek()?.kind else { return None };
        self.next();
        Some(word)
    }

    /// Consumes the next token if it is an integer.
    pub fn take_integer(&mut self) -> Option<i64> {
        let Kind::Number(number) = self.peek()?.kind else { return None };
        let Number::Integer(value) = parse_number(number)? else { return None };
        self.next();
        Some(value)
    }

    /// Consumes the next token if it is on this line.
    pub fn next_on_line(&mut self, line: u32) -> Option<Token<'a>> {
        self.peek().filter(|token| token.line == line)?;
        self.next()
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'\n') => {
                    self.line = self.line.saturating_add(1);
                    self.at += 1;
                }
                Some(byte) if byte.is_ascii_whitespace() || *byte == 0 => self.at += 1,
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'/') => {
                    let rest = &bytes[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'*') => {
                    let start = self.at;
                    let rest = &self.text[self.at + 2..];
                    self.at = rest.find("*/").map_or(bytes.len(), |end| self.at + 2 + end + 2);
                    self.count_lines(start);
                }
                _ => return,
            }
        }
    }

    fn count_lines(&mut self, from: usize) {
        let lines = self.text.as_bytes()[from..self.at].iter().filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
    }

    fn read(&mut self) -> Option<Token<'a>> {
        self.skip_blanks();
        let bytes = self.text.as_bytes();
        let start = self.at;
        let line = self.line;
        let first = *bytes.get(start)?;
        let kind = match first {
            b'"' => Kind::Text(self.string()),
            b'0'..=b'9' => Kind::Number(self.number()),
            _ if is_word_byte(first) => {
                self.at += 1;
                loop {
                    match bytes.get(self.at) {
                        Some(byte) if is_word_byte(*byte) => self.at += 1,
                        // `shared::cta` is one word; in `label:` the colon ends the word.
                        Some(b':') if bytes.get(self.at + 1) == Some(&b':') => self.at += 2,
                        _ => break,
                    }
                }
                Kind::Word(&self.text[start..self.at])
            }
            sign => {
                self.at += 1;
                Kind::Sign(sign)
            }
        };
        Some(Token { kind, line })
    }

    fn number(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let is_hexadecimal = matches!(bytes.get(start + 1), Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D'));
        while let Some(byte) = bytes.get(self.at) {
            let is_exponent_sign = matches!(byte, b'+' | b'-')
                && !is_hexadecimal
                && matches!(bytes[self.at - 1], b'e' | b'E')
                && self.text[start..self.at].contains('.');
            if !(is_exponent_sign || byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'_') {
                break;
            }
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn string(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let start = self.at;
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        let end = self.at.min(bytes.len());
        self.at = (end + 1).min(bytes.len());
        // A backslash before a multi-byte character may have stopped inside that character.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        self.count_lines(start);
        self.text.get(start + 1..end).unwrap_or("")
    }
}

/// A numeric literal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// An integer; values above `i64::MAX` keep their bits.
    Integer(i64),
    Single(u32),
    Double(u64),
}

/// Parses a literal: PTX ISA 4.5 "Constants".
pub(crate) fn parse_number(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    let digits = |from: usize, radix: u32| {
        let digits = text.get(from..)?.trim_end_matches(['U', 'u']);
        u64::from_str_radix(digits, radix).ok().map(|value| Number::Integer(value as i64))
    };
    match (bytes.first()?, bytes.get(1)) {
        (b'0', Some(b'x' | b'X')) => digits(2, 16),
        (b'0', Some(b'b' | b'B')) => digits(2, 2),
        (b'0', Some(b'f' | b'F')) => u32::from_str_radix(text.get(2..)?, 16).ok().map(Number::Single),
        (b'0', Some(b'd' | b'D')) => u64::from_str_radix(text.get(2..)?, 16).ok().map(Number::Double),
        _ if text.contains('.') => text.parse::<f64>().ok().map(|value| Number::Double(value.to_bits())),
        (b'0', Some(b'0'..=b'7')) => digits(1, 8),
        _ => digits(0, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_kind() {
        let integer = |text| match parse_number(text) {
            Some(Number::Integer(value)) => Some(value),
            _ => None,
        };
        assert_eq!(integer("0x1F"), Some(31));
        assert_eq!(integer("18446744073709551615U"), Some(-1));
        assert_eq!(integer("017"), Some(15));
        assert_eq!(integer("0b101"), Some(5));
        assert_eq!(integer("0"), Some(0));
        assert_eq!(integer("0U"), Some(0));
        assert_eq!(parse_number("0f3F800000"), Some(Number::Single(0x3f80_0000)));
        assert_eq!(parse_number("0d3FF0000000000000"), Some(Number::Double(0x3ff0_0000_0000_0000)));
        assert_eq!(parse_number("1.5e-1"), Some(Number::Double(0.15f64.to_bits())));
        assert_eq!(parse_number("99999999999999999999"), None);
    }

    #[test]
    fn words_keep_their_dots_and_labels_do_not_swallow_the_colon() {
        let mut lexer = Lexer::new("ld.shared::cta.u32 %r1; L1: /* a\nb */ // c\n\"x\\\"y\" ");
        let mut kinds = Vec::new();
        while let Some(token) = lexer.next() {
            kinds.push((token.kind, token.line));
        }
        assert_eq!(
            kinds,
            [
                (Kind::Word("ld.shared::cta.u32"), 1),
                (Kind::Word("%r1"), 1),
                (Kind::Sign(b';'), 1),
                (Kind::Word("L1"), 1),
                (Kind::Sign(b':'), 1),
                (Kind::Text("x\\\"y"), 3),
            ]
        );
    }
}
