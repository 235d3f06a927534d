//! Attributes that the grammar does not know where they stand: `__align__(8) float v[12]`, `float v[12] alignas(16)`,
//! `_Pragma("unroll") for (…)`, `void __maxnreg__(32) walk()`, and macros that expand to such.
//!
//! They are blanked out for the parser. One such attribute would otherwise tear its statement apart, and no edit is
//! made in a function with errors. The text itself keeps them: an edit that would remove one, or get between one and
//! what it belongs to, is refused.

use std::borrow::Cow;
use std::ops::Range;

use lmem_unit::{CompiledText, Difference, Token, TokenKind, is_unroll_pragma, tokens};

use crate::identifiers::is_identifier_character;

use crate::tree::syntax_tree::SyntaxTree;

/// Attributes of variables that change neither a type's layout nor a computed value. `vector_size` or `packed` would.
const NEUTRAL: [&str; 3] = ["aligned", "unused", "maybe_unused"];

/// Attributes with a list in parentheses that are unknown to the grammar wherever they stand.
const UNKNOWN: [&str; 5] = ["__align__", "__builtin_align__", "__maxnreg__", "__cluster_dims__", "__block_size__"];

/// Parts of the text of the others.
const SPELLINGS: [&str; 5] = ["__attribute__", "__restrict", "alignas", "[[", "_Pragma"];

/// The attributes of a text, and these heads, in order and apart, that the parser must not see.
pub fn unparsed_attributes(text: &str, compiled: &CompiledText, heads: &[Range<usize>]) -> Vec<Range<usize>> {
    let is_spelled = UNKNOWN.iter().chain(&SPELLINGS).any(|spelling| text.contains(spelling));
    let mut found = if is_spelled { spelled(text) } else { Vec::new() };
    let is_directive = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with('#'));
    let is_word = |range: Range<usize>| {
        text.get(range).is_some_and(|own| !own.is_empty() && own.chars().all(is_identifier_character))
    };
    // A word for other compilers, as `GLOBAL_AS` in `f(GLOBAL_AS u32 *p)`, which became nothing.
    let is_nothing = |it: &Difference| it.compiled.is_empty() && is_word(it.start..it.end);
    let neutral = compiled.differences().filter(|it| is_neutral(&it.compiled) || is_nothing(it));
    let neutral = neutral.filter(|it| !is_directive(it.start));
    let neutral = neutral.map(|it| it.start..it.end).filter(|range| !range.is_empty());
    let of_macros: Vec<Range<usize>> = neutral.chain(heads.iter().cloned()).collect();
    let is_apart = |one: &Range<usize>| !of_macros.iter().any(|other| one.start < other.end && other.start < one.end);
    found.retain(is_apart);
    found.extend(of_macros);
    found.sort_by_key(|range| range.start);
    found
}

/// The text with some ranges as blanks, its lines as they are.
pub fn blanked<'t>(text: &'t str, ranges: &[Range<usize>]) -> Cow<'t, str> {
    let mut blanked = String::new();
    let mut at = 0;
    for range in ranges {
        let (Some(before), Some(removed)) = (text.get(at..range.start), text.get(range.clone())) else {
            return Cow::Borrowed(text);
        };
        blanked.push_str(before);
        blanked.extend(removed.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }));
        at = range.end;
    }
    match (at, text.get(at..)) {
        (1.., Some(rest)) => Cow::Owned(blanked + rest),
        _ => Cow::Borrowed(text),
    }
}

impl SyntaxTree {
    /// Whether a range has such an attribute, or nothing but blanks stands between it and one.
    pub fn has_attribute_at(&self, range: &Range<usize>) -> bool {
        let text = self.text();
        let is_blank = |from: usize, to: usize| text.get(from..to).is_some_and(|gap| gap.trim().is_empty());
        self.attributes().iter().any(|attribute| {
            let is_before = attribute.end <= range.start && is_blank(attribute.end, range.start);
            let is_behind = range.end <= attribute.start && is_blank(range.end, attribute.start);
            is_before || is_behind || (attribute.start < range.end && range.start < attribute.end)
        })
    }

    /// The attribute directly before an offset.
    pub fn attribute_before(&self, offset: usize) -> Option<Range<usize>> {
        let before = self.attributes().iter().rfind(|attribute| attribute.end <= offset)?;
        self.text().get(before.end..offset)?.trim().is_empty().then(|| before.clone())
    }
}

/// The attributes that stand in the text.
fn spelled(text: &str) -> Vec<Range<usize>> {
    let tokens = tokens(text);
    let words = Words { text, tokens: &tokens };
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match words.attribute(at) {
            Some(end) => {
                found.push(tokens[at].range.start..tokens[end - 1].range.end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Whether what a macro became is attributes of this kind alone.
fn is_neutral(compiled: &str) -> bool {
    if is_unroll_pragma(compiled) {
        return true;
    }
    let tokens = tokens(compiled);
    let words = Words { text: compiled, tokens: &tokens };
    let mut at = 0;
    while words.word(at) == "__attribute__" {
        let Some(end) = words.closed(at + 1).filter(|end| words.is_neutral_list(at + 3..end - 2)) else {
            return false;
        };
        at = end;
    }
    at > 0 && at == tokens.len()
}

struct Words<'t> {
    text: &'t str,
    tokens: &'t [Token],
}

impl Words<'_> {
    /// A token's text; nothing before the first and behind the last.
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).and_then(|token| self.text.get(token.range.clone())).unwrap_or("")
    }

    /// Whether the token before is a name or the end of a declarator, so that an attribute here follows something.
    fn follows_a_name(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        before.is_some_and(|token| token.kind == TokenKind::Identifier)
            || matches!(self.word(at.wrapping_sub(1)), "]" | "*")
    }

    /// The index after an attribute that the grammar does not know here.
    fn attribute(&self, at: usize) -> Option<usize> {
        match self.word(at) {
            word if UNKNOWN.contains(&word) => self.closed(at + 1),
            // Behind `*` the grammar knows it.
            "__restrict__" | "__restrict" => matches!(self.word(at.wrapping_sub(1)), "&" | "&&").then_some(at + 1),
            "_Pragma" => {
                self.closed(at + 1).filter(|_| self.word(at + 2).trim_matches(['"', ' ']).starts_with("unroll"))
            }
            "__attribute__" if self.follows_a_name(at) => {
                let is_of_type = matches!(self.word(at - 1), "struct" | "class" | "union" | "enum");
                self.closed(at + 1).filter(|end| !is_of_type && self.is_neutral_list(at + 3..end - 2))
            }
            // Behind a declarator; before it, the grammar knows it.
            "alignas" if self.follows_a_name(at) => {
                self.closed(at + 1).filter(|end| matches!(self.word(*end), "[" | ";" | "," | "=" | "{"))
            }
            "[" if self.word(at + 1) == "[" && self.follows_a_name(at) => {
                let length =
                    self.tokens[at..].iter().take_while(|token| self.text[token.range.clone()] != *"]").count();
                let end = at + length + 2;
                (self.word(end - 1) == "]" && self.is_neutral_list(at + 2..end - 2)).then_some(end)
            }
            _ => None,
        }
    }

    /// The index after the parenthesis that closes the one here.
    fn closed(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.word(at) {
                "(" => depth += 1,
                ")" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return (at > open).then_some(at + 1);
            }
        }
        None
    }

    /// Whether all attributes of a list are known to be neutral: `aligned(16), gnu::unused`.
    fn is_neutral_list(&self, list: Range<usize>) -> bool {
        let mut depth = 0usize;
        let mut names = 0;
        for at in list.clone() {
            match self.word(at) {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                "," | "::" | "gnu" if depth == 0 => {}
                name if depth == 0 => {
                    if !NEUTRAL.contains(&name.trim_matches('_')) {
                        return false;
                    }
                    names += 1;
                }
                _ => {}
            }
        }
        names > 0 && depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    /// The kernel's statements as the parser sees them, blanks squeezed; `None` if it finds errors in them.
    fn parsed(body: &str) -> Option<String> {
        let text = format!(
            "#define UNROLL _Pragma(\"unroll\")\n#define ALIGN(n) __attribute__((aligned(n)))\n#define TWICE for (int t = 0; t < 2; ++t)\n#define UNROLL_IF _Pragma(\"unroll\") if (n)\n__global__ void k(float* in, int n) {{\n{body}\n}}\n"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        let seen = blanked(&text, tree.attributes());
        assert_eq!(seen.len(), text.len(), "offsets stay");
        let body = &seen[seen.find("{\n")? + 2..seen.rfind("\n}")?];
        (!tree.root()?.has_error()).then(|| body.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn attributes_do_not_tear_statements_apart() {
        for (body, expected) in [
            ("__align__(8) float v[12];", "float v[12];"),
            ("const __align__(sizeof(float4)) float v[2] = {1, 2};", "const float v[2] = {1, 2};"),
            ("float __align__(16) v[12], w[4] __align__(16);", "float v[12], w[4] ;"),
            ("__shared__ __align__(16) float v[12];", "__shared__ float v[12];"),
            ("struct __align__(16) S { float a[4]; } s;", "struct S { float a[4]; } s;"),
            ("float v[12] __attribute__((aligned(16), unused)) = {};", "float v[12] = {};"),
            ("float v alignas(16) [12];", "float v [12];"),
            ("float v [[maybe_unused]] [12], w [[gnu::unused]];", "float v [12], w ;"),
            ("_Pragma(\"unroll 1\") for (;;) f();", "for (;;) f();"),
            ("for (;;) _Pragma(\"unroll\") for (;;) f();", "for (;;) for (;;) f();"),
            ("UNROLL for (;;) f();", "for (;;) f();"),
            ("for (;;) { UNROLL\nfor (;;) f(); }", "for (;;) { for (;;) f(); }"),
            ("ALIGN(16) float v[12];", "float v[12];"),
            ("float& __restrict__ v = in[0];", "float& v = in[0];"),
            // What the grammar knows stays.
            ("alignas(16) float v[12];", "alignas(16) float v[12];"),
            ("float* __restrict__ v = in;", "float* __restrict__ v = in;"),
            ("[[maybe_unused]] float v[2];", "[[maybe_unused]] float v[2];"),
            ("__attribute__((aligned(16))) float v[2];", "__attribute__((aligned(16))) float v[2];"),
            ("for (;;) [[likely]] { f(); }", "for (;;) [[likely]] { f(); }"),
            ("in[m[0]] = m[m[n]];", "in[m[0]] = m[m[n]];"),
        ] {
            assert_eq!(parsed(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn what_changes_a_type_or_hides_code_is_seen_by_the_parser() {
        for body in [
            "float v __attribute__((vector_size(16)));",
            "float v[2] __attribute__((aligned(16), cleanup(f)));",
            "_Pragma(\"nv_diag_suppress 1\") for (;;) f();",
            "UNROLL_IF for (;;) f();",
            "__align__(8 float v[12];",
        ] {
            assert_eq!(parsed(body), None, "{body}");
        }
    }

    #[test]
    fn attributes_stay_with_what_they_belong_to() {
        let text = "__global__ void k(float* in) {\n__align__(8) float v[2]; float w[2] alignas(16); _Pragma(\"unroll 1\")\nfor (;;) f(v, w);\n}\n";
        let tree = SyntaxTree::example("a.cu", text);
        let at = |needle: &str| text.find(needle).unwrap();
        let range = |needle: &str| at(needle)..at(needle) + needle.len();
        // Nothing gets between them, and nothing is removed beside one that would stay.
        assert_eq!(tree.insertion(at("float v"), "static "), None);
        assert_eq!(tree.replacement(range("float v[2];"), ""), None);
        assert_eq!(tree.replacement(range("float w[2]"), "float x[2]"), None);
        assert_eq!(tree.replacement(range("__align__(8) float v[2];"), ""), None);
        assert_eq!(tree.neutral_line_before(at("for"), "#pragma unroll"), None);
        // Everything else may be edited, and the pragma itself.
        let edits = [
            tree.replacement(range("f(v, w)"), "g(v)").unwrap(),
            tree.neutral_replacement(range("unroll 1"), "unroll").unwrap(),
        ];
        let edited = apply(text, &edits.iter().collect::<Vec<_>>()).unwrap();
        assert!(edited.contains("_Pragma(\"unroll\")\nfor (;;) g(v);"), "{edited}");
    }
}
