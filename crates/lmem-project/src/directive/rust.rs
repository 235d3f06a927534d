//! Directives in Rust code next to kernel strings: their positions and scopes.

use std::cell::Cell;
use std::ops::Range;

use super::code::{MAX_LOOKS, NoScope, find};

/// The lexical structure of Rust code that directives need.
pub struct RustText<'a> {
    text: &'a [u8],
    /// `//` and `/* */` comments, without doc comments.
    pub comments: Vec<Range<usize>>,
    /// The text with comments replaced by spaces, and strings and characters by quotes; offsets stay the same.
    code: Vec<u8>,
    strings: Vec<Range<usize>>,
    /// Bytes that may still be looked at for scopes.
    effort: Cell<usize>,
}

impl<'a> RustText<'a> {
    pub fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let effort = Cell::new(MAX_LOOKS * (bytes.len() + 1024));
        let mut rust = Self { text: bytes, comments: Vec::new(), code: bytes.to_vec(), strings: Vec::new(), effort };
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            at = match rest {
                [b'/', b'/', ..] => {
                    let end = find(bytes, at, b"\n").unwrap_or(bytes.len());
                    rust.comment(at..end, matches!(rest.get(2), Some(b'/' | b'!')))
                }
                [b'/', b'*', ..] => {
                    let end = find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2);
                    rust.comment(at..end, matches!(rest.get(2), Some(b'*' | b'!')))
                }
                [b'"', ..] => rust.string(at..quoted(bytes, at)),
                [b'r', b'"' | b'#', ..] => match raw(bytes, at) {
                    end if end == at + 1 => end,
                    end => rust.string(at..end),
                },
                // A character literal or a lifetime.
                [b'\'', b'\\', ..] => rust.string(at..find(bytes, at + 3, b"'").map_or(bytes.len(), |end| end + 1)),
                [b'\'', _, b'\'', ..] => rust.string(at..at + 3),
                _ => at + 1,
            };
        }
        rust
    }

    fn comment(&mut self, range: Range<usize>, is_documentation: bool) -> usize {
        self.code[range.clone()].fill(b' ');
        let end = range.end;
        self.comments.extend((!is_documentation).then_some(range));
        end
    }

    fn string(&mut self, range: Range<usize>) -> usize {
        self.code[range.clone()].fill(b'"');
        let end = range.end;
        self.strings.push(range);
        end
    }

    /// The scope of a comment in bytes. Behind code it is the line, including all of a string that ends there; else it
    /// is the next item, statement or element.
    pub fn scope_of(&self, comment: &Range<usize>) -> Result<Range<usize>, NoScope> {
        let line_start = self.text[..comment.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if self.effort.get() == 0 {
            return Err(NoScope::TooMany);
        }
        self.spend(comment.end - line_start);
        if self.code[line_start..comment.start].iter().all(u8::is_ascii_whitespace) {
            let scope = self.following(comment.end);
            self.spend(scope.as_ref().map_or(0, |scope| scope.end - comment.end));
            return scope;
        }
        let line_end = find(self.text, comment.end, b"\n").unwrap_or(self.text.len());
        let after = self.strings.partition_point(|string| string.end <= line_start);
        let string = self.strings.get(after).filter(|string| string.contains(&line_start));
        Ok(string.map_or(line_start, |string| string.start)..line_end)
    }

    fn spend(&self, bytes: usize) {
        self.effort.set(self.effort.get().saturating_sub(bytes));
    }

    fn following(&self, from: usize) -> Result<Range<usize>, NoScope> {
        let rest = &self.code[from..];
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.spend(blanks);
        let start = Some(from + blanks).filter(|start| *start < self.code.len()).ok_or(NoScope::NoCode)?;
        // A line with another comment is not blank.
        let lines: Vec<&[u8]> = self.text[from..start].split(|byte| *byte == b'\n').collect();
        let between = lines.get(1..lines.len().saturating_sub(1)).unwrap_or_default();
        if between.iter().any(|line| line.iter().all(u8::is_ascii_whitespace)) {
            return Err(NoScope::BlankLine);
        }
        let is_element = self.code[start] == b'"';
        let mut depth = 0_usize;
        for at in start..self.code.len() {
            match self.code[at] {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' if depth == 0 => return Ok(start..at),
                byte @ (b')' | b']' | b'}') => {
                    depth -= 1;
                    if byte == b'}' && depth == 0 && !self.goes_on(at + 1) {
                        return Ok(start..at + 1);
                    }
                }
                b';' if depth == 0 => return Ok(start..at + 1),
                b',' if depth == 0 && is_element => return Ok(start..at),
                _ => {}
            }
        }
        Ok(start..self.code.len())
    }

    /// Whether the code behind a closing brace continues the same item.
    fn goes_on(&self, from: usize) -> bool {
        let rest = self.code[from..].trim_ascii_start();
        rest.starts_with(b"else") || matches!(rest.first(), Some(b';' | b'.' | b',' | b'?' | b')' | b']'))
    }
}

/// A string literal in Rust code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustString {
    pub range: Range<usize>,
    /// The content between the quotes, with its escapes unless the literal is raw.
    pub text: Range<usize>,
    /// `r#"…"#`, which may contain quotation marks.
    pub is_hashed: bool,
}

/// The string literal that contains an offset of Rust code.
pub fn string_around(text: &str, at: usize) -> Option<RustString> {
    let rust = RustText::of(text);
    let range = rust.strings.into_iter().find(|range| range.contains(&at))?;
    let literal = &text[range.clone()];
    let hashes = literal.strip_prefix('r').map_or(0, |rest| rest.bytes().take_while(|byte| *byte == b'#').count());
    let open = literal.find('"')? + 1;
    let close = literal.len().checked_sub(1 + hashes).filter(|close| *close >= open)?;
    Some(RustString { text: range.start + open..range.start + close, range, is_hashed: hashes > 0 })
}

fn quoted(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The offset behind `r#"…"#`, or behind the `r` of a raw identifier.
fn raw(bytes: &[u8], start: usize) -> usize {
    let hashes = bytes[start + 1..].iter().take_while(|byte| **byte == b'#').count();
    let open = start + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return start + 1;
    }
    let close = [&b"\""[..], &bytes[start + 1..open]].concat();
    find(bytes, open + 1, &close).map_or(bytes.len(), |at| at + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_documentation_are_left_out() {
        let text = "/// a\n//! b\n/** c */ let s = \"// d\"; // e\nlet t = r#\"// f \" /* g */\"#; '\"'; x::<'a>(); /* h */ '\\''; // i";
        let found: Vec<&str> = RustText::of(text).comments.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["// e", "/* h */", "// i"]);
    }

    fn scope(text: &str) -> &str {
        let code = RustText::of(text);
        &text[code.scope_of(&code.comments[0]).unwrap()]
    }

    #[test]
    fn a_comment_holds_for_what_follows() {
        let item = "const A: &str = r#\"\n__global__ void f() { x; }\n\"#;";
        assert_eq!(scope(&format!("// x\n{item}\nconst B: u8 = 0;")), item);
        assert_eq!(
            scope(&format!("// x\n/// Documentation; of it.\n#[rustfmt::skip]\n{item}\nb")),
            format!("#[rustfmt::skip]\n{item}")
        );
        assert_eq!(scope("fn f() {\n    // x\n    let a = { \"};\" };\n    b;\n}"), "let a = { \"};\" };");
        assert_eq!(scope("// x\nfn f() -> u8 {\n  a;\n}\nb"), "fn f() -> u8 {\n  a;\n}");
        assert_eq!(scope("f([\n// x\n\"a, b\",\n\"c\"])"), "\"a, b\"");
        assert_eq!(scope("f(\n// x\nA)"), "A");
        assert_eq!(scope("a;\nb; // x\nc"), "b; // x");
        assert_eq!(scope("a;\nlet b = \"c\n;\nd\"; // x\nc"), "\"c\n;\nd\"; // x");
        let code = RustText::of("// x\n\na;");
        assert_eq!(code.scope_of(&code.comments[0]), Err(NoScope::BlankLine));
        let code = RustText::of("a;\n// x\n");
        assert_eq!(code.scope_of(&code.comments[0]), Err(NoScope::NoCode));
    }

    #[test]
    fn broken_code_ends_nothing() {
        for text in ["\"", "r#\"", "r", "'", "'\\", "/*", "/", "\"\\", "é'é"] {
            let code = RustText::of(text);
            code.comments.iter().for_each(|comment| drop(code.scope_of(comment)));
        }
        for text in ["// x\n}", "// x", "// x\n{", "a // x", "\"\n\" // x", "// x\né", "// x\n\n\n"] {
            let code = RustText::of(text);
            code.comments.iter().for_each(|comment| drop(code.scope_of(comment)));
        }
    }
}
