//! Macros in a function's head that stand for an attribute: `#define LAUNCH __launch_bounds__(256, 4)`.

use std::ops::Range;

use crate::ast::{Field, Kind, Node};
use crate::identifiers::{identifiers, occurrences};
use crate::tree::syntax_tree::SyntaxTree;

/// An attribute that a macro writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadMacro {
    /// `__launch_bounds__(256, 4)`, within the definition of the macro.
    pub attribute: Range<usize>,
    /// Whether the text uses the macro in this one head, so that what it says is said of one function.
    pub is_sole: bool,
}

impl SyntaxTree {
    /// The attribute `keyword(…)` that a macro of a head writes. The macro must have one definition in the text, under no
    /// condition: with several it is not known which one holds.
    pub(super) fn head_macro(&self, head: Range<usize>, keyword: &str) -> Option<HeadMacro> {
        let words = self.text().get(head.clone()).filter(|head| !head.contains(keyword))?;
        let is_upper = |word: &&str| word.chars().all(|c| !c.is_lowercase()) && word.chars().any(char::is_alphabetic);
        let mut found = identifiers(words).filter(is_upper).filter_map(|word| {
            let mut own = self.macros_named(word);
            let definition = own.next().filter(|_| own.next().is_none())?;
            let is_unconditional = definition.parent().is_some_and(|it| it.kind() == Kind::TranslationUnit);
            let is_plain = definition.kind() == Kind::PreprocDef && is_unconditional;
            let value = definition.field(Field::Value).filter(|_| is_plain)?;
            let attribute = attribute(self.slice(value), keyword)?;
            let attribute = value.start_byte() + attribute.start..value.start_byte() + attribute.end;
            let is_sole = occurrences(self.text(), word).count() == 2;
            Some(HeadMacro { attribute, is_sole })
        });
        found.next().filter(|_| found.next().is_none())
    }

    /// The directives that define a macro.
    pub fn macros_named<'t>(&'t self, name: &'t str) -> impl Iterator<Item = Node<'t>> {
        let is_it = move |node: &Node<'_>| node.field(Field::Name).is_some_and(|own| self.slice(own) == name);
        self.macro_definitions().filter(is_it)
    }

    /// The nodes that define macros. Each object asks for the function around it, and with that for these.
    pub fn macro_definitions(&self) -> impl Iterator<Item = Node<'_>> {
        let all = || self.nodes().filter(|node| node.is_macro_definition()).map(Node::id).collect();
        self.memory.macro_definitions.get_or_init(all).iter().filter_map(|id| self.node(*id))
    }
}

/// `keyword(…)` in a text that has it once, with its closing parenthesis.
fn attribute(text: &str, keyword: &str) -> Option<Range<usize>> {
    let mut places = occurrences(text, keyword);
    let start = places.next().filter(|_| places.next().is_none())?;
    let mut depth = 0_usize;
    for (at, character) in text.get(start + keyword.len()..)?.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(start..start + keyword.len() + at + 1),
            ')' => depth = depth.checked_sub(1)?,
            _ if depth == 0 && !character.is_whitespace() => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::BoundsPlace;

    fn bounds(text: &str) -> Option<(String, BoundsPlace)> {
        let tree = SyntaxTree::example("a.cu", text);
        let function = tree.function_at(text.find("} // k").unwrap())?;
        Some((tree.text()[function.launch_bounds?].to_string(), function.bounds_place))
    }

    #[test]
    fn macros_write_launch_bounds() {
        let kernel = "__global__ void LAUNCH k(float *out) { out[0] = 1; } // k\n";
        let other = "__global__ void LAUNCH other(float *out) { out[0] = 1; }\n";
        let define = "#define LAUNCH __launch_bounds__(THREADS, (65536 / 32))\n";
        let found = |place| Some(("__launch_bounds__(THREADS, (65536 / 32))".to_string(), place));
        assert_eq!(bounds(&format!("{define}{kernel}")), found(BoundsPlace::OwnMacro));
        assert_eq!(bounds(&format!("{define}{kernel}{other}")), found(BoundsPlace::SharedMacro));
        assert_eq!(bounds(&format!("#ifdef X\n{define}#endif\n{kernel}")), None);
        assert_eq!(bounds(&format!("{define}#define LAUNCH\n{kernel}")), None);
        assert_eq!(bounds(&format!("#define LAUNCH __noinline__\n{kernel}")), None);
        assert_eq!(bounds(&format!("#define LAUNCH BOUNDS(4)\n{kernel}")), None);
    }

    #[test]
    fn attributes_end_at_their_parenthesis() {
        let of = |text: &str| attribute(text, "__maxnreg__").map(|range| text[range].to_string());
        assert_eq!(of("inline __maxnreg__ (N * (2)) static").as_deref(), Some("__maxnreg__ (N * (2))"));
        assert_eq!((of("__maxnreg__"), of("__maxnreg__ N (2)"), of("my__maxnreg__(2)")), (None, None, None));
    }
}
