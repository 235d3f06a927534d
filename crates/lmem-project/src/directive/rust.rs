//! Comments of Rust code, where directives are written by mistake.

use std::ops::Range;

use super::code::find;

/// Where `//` and `/* */` comments stand; those that document an item are none.
pub fn comments(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut comments = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at = match rest {
            [b'/', b'/', ..] => {
                let end = find(bytes, at, b"\n").unwrap_or(bytes.len());
                comments.extend((!matches!(rest.get(2), Some(b'/' | b'!'))).then_some(at..end));
                end
            }
            [b'/', b'*', ..] => {
                let end = find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2);
                comments.extend((!matches!(rest.get(2), Some(b'*' | b'!'))).then_some(at..end));
                end
            }
            [b'"', ..] => quoted(bytes, at),
            [b'r', b'"' | b'#', ..] => raw(bytes, at),
            // A character, or the name of a lifetime.
            [b'\'', b'\\', ..] => find(bytes, at + 3, b"'").map_or(bytes.len(), |end| end + 1),
            [b'\'', _, b'\'', ..] => at + 3,
            _ => at + 1,
        };
    }
    comments
}

fn quoted(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Behind `r#"…"#`; behind the `r` of a raw name.
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
        let found: Vec<&str> = comments(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["// e", "/* h */", "// i"]);
    }

    #[test]
    fn broken_code_ends_nothing() {
        for text in ["\"", "r#\"", "r", "'", "'\\", "/*", "/", "\"\\", "é'é"] {
            comments(text);
        }
    }
}
