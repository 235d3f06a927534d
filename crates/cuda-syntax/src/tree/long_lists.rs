//! Long tables of numbers at namespace scope, and texts that are too long for a tree.
//!
//! The parser takes a hundred bytes for each number and each comma. A table of a megabyte, as generated code has, would take hundreds
//! of them, and nobody asks for its values: the parser gets one long name in place of them, which stands for nothing that is known.

use std::borrow::Cow;
use std::ops::Range;

use lmem_unit::{TokenKind, each_token};

/// The tokens of the shortest table that is left out. Shorter ones take less than a megabyte.
const LEAST: usize = 8_192;

/// The tokens of the longest text that is parsed, without such tables: a hundred thousand lines.
const MOST: usize = 800_000;

/// The values of long tables, in order, each from the first number to the last; `None` if the text is too long without them.
pub fn long_lists(text: &str) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    if text.len() < LEAST {
        return Some(found);
    }
    let mut reader = Reader::default();
    for token in each_token(text) {
        let word = text.get(token.range.clone()).unwrap_or("");
        found.extend(reader.next(word, token.kind, token.range));
    }
    (reader.count <= MOST).then_some(found)
}

/// The text with one name in place of each of these lists.
pub fn with_names<'t>(text: &'t str, lists: &[Range<usize>]) -> Cow<'t, str> {
    if lists.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut parsed, mut at) = (String::with_capacity(text.len()), 0);
    for list in lists {
        parsed.push_str(text.get(at..list.start).unwrap_or(""));
        parsed.extend(std::iter::repeat_n('_', list.len()));
        at = list.end;
    }
    parsed.push_str(text.get(at..).unwrap_or(""));
    Cow::Owned(parsed)
}

#[derive(Default)]
struct Reader {
    /// The tokens that the parser gets.
    count: usize,
    /// The open brackets; whether they are the braces of a namespace.
    open: Vec<bool>,
    /// Whether the declaration that is read is that of a namespace, or of a language's linkage.
    is_namespace: bool,
    is_behind_sign: bool,
    list: Option<List>,
}

/// A list of numbers that is being read.
struct List {
    depth: usize,
    tokens: usize,
    range: Range<usize>,
}

impl Reader {
    /// Reads a token; gives the list that ends with it.
    fn next(&mut self, word: &str, kind: TokenKind, range: Range<usize>) -> Option<Range<usize>> {
        self.count += 1;
        if let Some(list) = &mut self.list {
            match word {
                "}" if list.depth == 0 => return self.finish(),
                "{" => list.depth += 1,
                "}" => list.depth -= 1,
                "," | "-" | "+" => {}
                _ if kind == TokenKind::Number => {}
                _ => {
                    let depth = list.depth;
                    self.list = None;
                    self.open.extend(std::iter::repeat_n(false, depth + 1));
                    self.outside(word, kind, range.end);
                    return None;
                }
            }
            list.tokens += 1;
            list.range.start = list.range.start.min(range.start);
            list.range.end = range.end;
            return None;
        }
        self.outside(word, kind, range.end);
        None
    }

    fn finish(&mut self) -> Option<Range<usize>> {
        let list = self.list.take()?;
        let is_long = list.tokens >= LEAST;
        self.count -= if is_long { list.tokens } else { 0 };
        is_long.then_some(list.range)
    }

    fn outside(&mut self, word: &str, kind: TokenKind, end: usize) {
        let is_of_namespace = self.open.iter().all(|open| *open);
        match word {
            "{" if self.is_behind_sign && is_of_namespace => {
                self.list = Some(List { depth: 0, tokens: 0, range: usize::MAX..end });
            }
            "{" => self.open.push(self.is_namespace),
            "(" | "[" => self.open.push(false),
            "}" | ")" | "]" => drop(self.open.pop()),
            _ => {}
        }
        self.is_namespace = match word {
            "namespace" => true,
            ";" | "{" | "}" | "(" | "=" => false,
            _ => self.is_namespace || (kind == TokenKind::Literal && word == "\"C\""),
        };
        self.is_behind_sign = word == "=";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SyntaxTree;
    use crate::ast::Kind;

    fn table(values: usize) -> String {
        (0..values).map(|value| format!("{value},\n")).collect()
    }

    #[test]
    fn long_tables_of_a_namespace_are_left_out() {
        let values = table(LEAST / 2);
        let nested = format!("{{ -1.5e-3f, 0x1u }}, {values}");
        for text in [
            format!("__device__ const int t[] = {{ {values} }};\nint f();"),
            format!("namespace a::b {{ extern \"C\" {{ static const float2 t[] = {{\n{nested}}}; }} }}\nint f();"),
        ] {
            let found = long_lists(&text).unwrap();
            assert_eq!(found.len(), 1);
            assert!(text[found[0].clone()].ends_with(",") && text[..found[0].start].trim_end().ends_with('{'));
            let tree = SyntaxTree::example("a.cu", &text);
            assert!(!tree.root().unwrap().has_error());
            let list = tree.nodes_of(&[Kind::InitializerList]).next().unwrap();
            assert_eq!((list.named_child_count(), tree.nodes().count() < 60), (1, true));
            // Lines are those of the text.
            assert_eq!(tree.root().unwrap().end_row(), text.matches('\n').count());
        }
    }

    #[test]
    fn other_lists_are_parsed() {
        let values = table(LEAST);
        for text in [
            format!("__device__ const int t[] = {{ {} }};", table(LEAST / 2 - 1)),
            format!("__device__ const int t[] = {{ {values} f() }};"),
            format!("__device__ const int t[] = {{ {values} \n#if X\n1\n#endif\n }};"),
            format!("void f() {{ const int t[] = {{ {values} }}; }}"),
            format!("struct S {{ static constexpr int t[] = {{ {values} }}; }};"),
            format!("namespace {{ void f() {{ int t[] = {{ {{ {values} x }} }}; }} }}"),
            format!("int x = f({{ {values} }});"),
        ] {
            assert_eq!(long_lists(&text), Some(Vec::new()), "{}", &text[..40]);
        }
    }

    #[test]
    fn a_text_without_end_has_no_tree() {
        let text = format!("int x = {}1;", "1+".repeat(MOST));
        assert_eq!(long_lists(&text), None);
        assert!(SyntaxTree::example("a.cu", &text).root().is_none());
        let text = format!("int t[] = {{ {} }};", "1,".repeat(MOST));
        assert_eq!(long_lists(&text).map(|found| found.len()), Some(1));
    }
}
