//! Values that every compilation of a file gives an expression.
//!
//! A build may set a macro with `-D`, and a macro or a constant below an `#if` may have another value for another
//! architecture. An edit that writes a number in place of a name must not rest on one of them.

use crate::ast::{Field, Kind, Node};
use crate::constant::{self, integer::Value};
use crate::identifiers::identifiers;
use crate::tree::constants::unbraced;
use crate::tree::syntax_tree::SyntaxTree;

/// Constants that are defined by others, at most.
const MAX_DEPTH: usize = 8;

impl SyntaxTree {
    /// The value of an expression, if it is the same however the file is compiled.
    pub fn settled_value_of(&self, node: Node<'_>) -> Option<i64> {
        let settled = self.settled_value(self.slice(node), node.start_byte(), MAX_DEPTH)?.as_i64()?;
        self.value_of(node).filter(|value| *value == settled)
    }

    /// The value of a text whose names all stand for the same in all compilations.
    fn settled_value(&self, text: &str, at: usize, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        constant::evaluate(unbraced(text), &|name| self.settled_value_of_name(name, at, depth))
    }

    fn settled_value_of_name(&self, name: &str, at: usize, depth: usize) -> Option<Value> {
        let is_macro = self.compiled().expansions(self.text(), name).next().is_some();
        if is_macro || self.macros_named(name).next().is_some() {
            return self.settled_value(self.only_definition(name)?, at, depth);
        }
        let (start, end) = self.constant_initializer(name, at)?;
        let is_conditional = self.node_at(start).is_none_or(|node| self.is_conditional(node));
        self.settled_value(self.text().get(start..end).filter(|_| !is_conditional)?, start, depth)
    }

    /// The value of a macro that the text defines once, and never below an `#if`.
    fn only_definition(&self, name: &str) -> Option<&str> {
        let mut own = self.macros_named(name);
        let definition = own.next().filter(|_| own.next().is_none())?;
        let is_plain = definition.kind() == Kind::PreprocDef && !self.is_conditional(definition);
        let is_undefined = self.text().lines().any(|line| {
            let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
            rest.is_some_and(|rest| !rest.starts_with("define") && identifiers(rest).any(|word| word == name))
        });
        definition.field(Field::Value).filter(|_| is_plain && !is_undefined).map(|value| self.slice(value))
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
        assert_eq!(value("constexpr unsigned N{8u};", "N"), Some(8));
    }

    fn is_settled(text: &str) -> bool {
        SyntaxTree::example("a.cuh", text).settled_value("N", text.len(), MAX_DEPTH).is_some()
    }

    #[test]
    fn the_guard_of_a_header_is_no_condition() {
        assert!(is_settled("#ifndef A_H\n#define A_H\n#define N 32\n#endif\n"));
        assert!(!is_settled("#ifndef A_H\n#define A_H 1\n#define N 32\n#endif\n"));
        assert!(!is_settled("#ifdef A_H\n#define N 32\n#endif\n"));
    }

    #[test]
    fn macros_of_headers_are_not_settled() {
        for text in
            ["#define N CELLS\n", "#define N ALIGN(8)\n", "#define N (2 * CELLS)\n", "constexpr int N = CELLS;\n"]
        {
            assert!(!is_settled(text), "{text}");
        }
        assert!(is_settled("#define N (int)(4 * sizeof(int))\n"));
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
