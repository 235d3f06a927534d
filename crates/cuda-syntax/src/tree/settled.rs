//! Values that every compilation of a file gives an expression.
//!
//! A build may set a macro with `-D`, and a macro or a constant below an `#if` may have another value for another
//! architecture. An edit that writes a number in place of a name must not rest on one of them.

use crate::ast::{Field, Kind, Node};
use crate::identifiers::identifiers;
use crate::tree::syntax_tree::SyntaxTree;

/// Constants that are defined by others, at most.
const MAX_DEPTH: usize = 8;

impl SyntaxTree {
    /// The value of an expression, if it is the same however the file is compiled.
    pub fn settled_value_of(&self, node: Node<'_>) -> Option<i64> {
        let text = self.slice(node);
        // Else a macro that this text does not define stands for a part of it.
        let is_of_text = self.compiled().is_verbatim(&node.byte_range())
            || identifiers(text).any(|name| self.only_definition(name).is_some());
        let is_settled = is_of_text && self.is_settled(text, node.start_byte(), MAX_DEPTH);
        self.value_of(node).filter(|_| is_settled)
    }

    /// Whether all names of an expression stand for the same in all compilations: macros that this text defines once and
    /// under no condition, and constants of such.
    fn is_settled(&self, expression: &str, at: usize, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let names = identifiers(expression).filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
        names.into_iter().all(|name| {
            let is_macro = self.compiled().expansions(self.text(), name).next().is_some();
            match is_macro || self.definitions(name).next().is_some() {
                true => self.only_definition(name).is_some_and(|value| self.is_settled(value, at, depth)),
                false => self.is_settled_constant(name, at, depth),
            }
        })
    }

    fn definitions(&self, name: &str) -> impl Iterator<Item = Node<'_>> {
        let is_it = move |node: &Node<'_>| node.field(Field::Name).is_some_and(|own| self.slice(own) == name);
        self.macro_definitions().filter(is_it)
    }

    /// The value of a macro that the text defines once, and never below an `#if`.
    fn only_definition(&self, name: &str) -> Option<&str> {
        let mut own = self.definitions(name);
        let definition = own.next().filter(|_| own.next().is_none())?;
        let is_plain = definition.kind() == Kind::PreprocDef && !self.is_conditional(definition);
        let is_undefined = self.text().lines().any(|line| {
            let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
            rest.is_some_and(|rest| !rest.starts_with("define") && identifiers(rest).any(|word| word == name))
        });
        definition.field(Field::Value).filter(|_| is_plain && !is_undefined).map(|value| self.slice(value))
    }

    /// Whether a name is a constant of this text whose initializer is settled, or no constant of it at all: a type, or a
    /// name that has no value.
    fn is_settled_constant(&self, name: &str, at: usize, depth: usize) -> bool {
        let Some((start, end)) = self.constant_initializer(name, at) else { return true };
        let is_conditional = self.node_at(start).is_none_or(|node| self.is_conditional(node));
        !is_conditional && self.text().get(start..end).is_some_and(|value| self.is_settled(value, start, depth))
    }

    /// Whether a node stands below an `#if`. The guard of a header is no condition of its values.
    fn is_conditional(&self, node: Node<'_>) -> bool {
        node.ancestors().any(|around| around.is_conditional_text() && !self.is_guard(around))
    }

    /// `#ifndef A_H`, followed by `#define A_H`.
    fn is_guard(&self, condition: Node<'_>) -> bool {
        let name = |node: Node<'_>| node.field(Field::Name).map(|name| self.slice(name));
        let first = condition.named_children().find(|child| child.is_macro_definition());
        let is_first = first.is_some_and(|first| {
            name(first) == name(condition) && first.field(Field::Value).is_none() && name(first).is_some()
        });
        is_first && self.slice(condition).trim_start_matches('#').trim_start().starts_with("ifndef")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(before: &str, expression: &str) -> Option<i64> {
        let text = format!("{before}\n__global__ void k() {{ int a[{expression}]; }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let at = text.rfind(&format!("[{expression}]")).unwrap() + 1;
        tree.settled_value_of(tree.root()?.named_descendant_for_byte_range(at, at + expression.len())?)
    }

    #[test]
    fn values_of_all_compilations_are_settled() {
        assert_eq!(value("", "32"), Some(32));
        assert_eq!(value("#define N 32", "N"), Some(32));
        assert_eq!(value("#define M 16\n#define N (2 * M)", "N"), Some(32));
        assert_eq!(value("constexpr int N = 32;", "N"), Some(32));
        assert_eq!(value("#define M 16\nconstexpr int N = 2 * M;", "N + 1"), Some(33));
    }

    #[test]
    fn the_guard_of_a_header_is_no_condition() {
        let is_settled = |text: &str| SyntaxTree::example("a.cuh", text).is_settled("N", text.len(), MAX_DEPTH);
        assert!(is_settled("#ifndef A_H\n#define A_H\n#define N 32\n#endif\n"));
        assert!(!is_settled("#ifndef A_H\n#define A_H 1\n#define N 32\n#endif\n"));
        assert!(!is_settled("#ifdef A_H\n#define N 32\n#endif\n"));
    }

    #[test]
    fn what_a_build_may_set_is_not() {
        assert_eq!(value("#ifndef N\n#define N 32\n#endif", "N"), None);
        assert_eq!(value("#if __CUDA_ARCH__ >= 900\n#define N 32\n#else\n#define N 64\n#endif", "N"), None);
        assert_eq!(value("#ifndef M\n#define M 32\n#endif\n#define N M", "N"), None);
        assert_eq!(value("#ifndef M\n#define M 32\n#endif\nconstexpr int N = M;", "N"), None);
        assert_eq!(value("#define N 64\n#ifdef SMALL\n#undef N\n#define N 32\n#endif", "N"), None);
        assert_eq!(value("#ifdef SMALL\nconstexpr int N = 32;\n#else\nconstexpr int N = 64;\n#endif", "N"), None);
    }
}
