//! Names whose value the text tells: `#define`, `const`, `constexpr`.

use std::collections::HashMap;

use tree_sitter::Node;

use super::children;
use crate::attribute::types;
use crate::attribute::view::SourceView;

impl SourceView {
    /// The value of a `#define`, or of a constant variable, where all of that name in the text have the same.
    pub(crate) fn constant(&self, name: &str) -> Option<String> {
        self.memory.constants.get_or_init(|| self.constants()).get(name)?.clone()
    }

    /// All names with a value; `None` for those with several, and for variables that may change.
    fn constants(&self) -> HashMap<String, Option<String>> {
        let mut constants: HashMap<String, Option<String>> = HashMap::new();
        let mut open: Vec<Node<'_>> = self.root().into_iter().collect();
        while let Some(node) = open.pop() {
            if let Some((name, value)) = self.defined(node) {
                constants
                    .entry(name.to_string())
                    .and_modify(|known| *known = known.take().filter(|known| Some(known) == value.as_ref()))
                    .or_insert(value);
            }
            open.extend(children(node));
        }
        constants
    }

    /// The name that a node defines, with its value where that is constant.
    fn defined(&self, node: Node<'_>) -> Option<(&str, Option<String>)> {
        let value = || {
            node.child_by_field_name("value")
                .map(|value| self.slice(value).trim_matches(['{', '}', ' ']).trim().to_string())
        };
        match node.kind() {
            "preproc_def" => Some((self.slice(node.child_by_field_name("name")?), value())),
            "init_declarator" => {
                let qualifiers = node.parent().map(children).unwrap_or_default();
                let is_constant =
                    qualifiers.into_iter().any(|child| matches!(self.slice(child), "const" | "constexpr"));
                Some((self.slice(node.child_by_field_name("declarator")?), value().filter(|_| is_constant)))
            }
            _ => None,
        }
    }

    /// The value of an expression of numbers and of the text's constants.
    pub fn evaluate(&self, expression: &str) -> Option<i64> {
        types::evaluate(expression, &|name| self.constant(name))
    }

    /// Whether a word is a number, a constant, or a parameter of a template around an offset.
    pub fn is_fixed(&self, word: &str, offset: usize) -> bool {
        if self.evaluate(word).is_some() {
            return true;
        }
        let mut node = self.root().and_then(|root| root.named_descendant_for_byte_range(offset, offset));
        while let Some(current) = node {
            if self.template_parameters(current).iter().any(|parameter| parameter == word) {
                return true;
            }
            node = current.parent();
        }
        false
    }
}
