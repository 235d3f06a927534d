//! Elements that both branches of a condition access: the compiler makes one access of the two, and gives it no line.

use std::collections::BTreeSet;

use crate::ast::{Branch, Conditional, Field, Kind, Node};
use crate::tree::functions::enclosing_function;
use crate::tree::loops::is_loop;
use crate::tree::role::role;
use crate::tree::syntax_tree::SyntaxTree;

impl SyntaxTree {
    /// The innermost loop around all of some offsets of one function. Without any, there is none.
    pub fn loop_around_all(&self, offsets: &BTreeSet<usize>) -> Option<Node<'_>> {
        let (first, last) = offsets.first().zip(offsets.last())?;
        let around = |node: &Node<'_>| node.start_byte() <= *first && *last < node.end_byte();
        let function = enclosing_function(self.node_at(*first)?)?;
        let mut outwards = self.node_at(*first)?.ancestors().take_while(|node| *node != function);
        outwards.find(|node| is_loop(*node) && around(node))
    }

    /// Where the first of the two branches accesses an element that the other one accesses too, if one condition below a node
    /// has such branches, or all that have some access the same one.
    pub fn accessed_in_both_branches(&self, within: Node<'_>, is_store: bool) -> Option<usize> {
        let mut found: Option<(usize, BTreeSet<&str>)> = None;
        for (one, other) in within.descendants().filter_map(branches) {
            let others: BTreeSet<&str> = self.elements(other, is_store).into_iter().map(|(_, text)| text).collect();
            let mut both = self.elements(one, is_store);
            both.retain(|(_, text)| others.contains(text));
            let Some((first, _)) = both.first().copied() else { continue };
            let both: BTreeSet<&str> = both.into_iter().map(|(_, text)| text).collect();
            match &found {
                None => found = Some((first, both)),
                Some((_, before)) if *before == both => {}
                Some(_) => return None,
            }
        }
        found.map(|(first, _)| first)
    }

    /// The elements below a node that are read, or written, with their offsets.
    fn elements<'t>(&'t self, node: Node<'t>, is_store: bool) -> Vec<(usize, &'t str)> {
        let is_within = |path: &Node<'_>| {
            path.parent().is_some_and(|parent| {
                let is = |field: Field| parent.field(field) == Some(*path);
                is_element(parent) && is(Field::Argument)
            })
        };
        let is_wanted = |path: &Node<'_>| {
            let (is_read, is_written, _) = role(*path);
            if is_store { is_written } else { is_read }
        };
        let paths = node.descendants().filter(|node| is_element(*node) && !is_within(node) && has_subscript(*node));
        paths.filter(is_wanted).map(|path| (path.start_byte(), self.slice(path))).collect()
    }
}

/// What is evaluated where a condition is true, and where it is not.
fn branches(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    match (Branch::of(node), Conditional::of(node)) {
        (Some(branch), _) => branch.consequence().zip(branch.alternative()),
        (None, Some(conditional)) => conditional.consequence().zip(conditional.alternative()),
        (None, None) => None,
    }
}

fn is_element(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::SubscriptExpression | Kind::FieldExpression)
}

/// Whether an access path, or what it begins with, has a subscript.
fn has_subscript(path: Node<'_>) -> bool {
    let parts = std::iter::successors(Some(path), |part| part.field(Field::Argument).filter(|part| is_element(*part)));
    parts.into_iter().any(|part| part.kind() == Kind::SubscriptExpression)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text from the place on that both branches of a function's body access.
    fn of(body: &str, is_store: bool) -> Option<String> {
        let text = format!("void f(float *a, float *b, int i, int c) {{ {body} }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let found = tree.accessed_in_both_branches(tree.root()?, is_store)?;
        Some(text[found..].split([';', ')']).next()?.to_string())
    }

    #[test]
    fn an_element_of_both_branches() {
        let some = |text: &str| Some(text.to_string());
        assert_eq!(of("if (c) { a[i] += 1; } else { a[i] += 2; }", true), some("a[i] += 1"));
        assert_eq!(of("if (c) { a[i] += 1; } else { a[i] += 2; }", false), some("a[i] += 1"));
        assert_eq!(of("if (c) a[i] = 1; else a[i] = b[i];", false), None);
        assert_eq!(of("if (c) a[i] = 1; else if (i) a[i] = b[i]; else a[i] = 3;", true), some("a[i] = 1"));
        assert_eq!(of("float x = c ? a[i] * 2 : a[i];", false), some("a[i] * 2 : a[i]"));
        assert_eq!(of("if (c) { a[i].x = 1; } else { a[i].x = 2; }", true), some("a[i].x = 1"));
        // Other elements, or two conditions that may be it.
        assert_eq!(of("if (c) { a[i] = 1; } else { a[c] = 2; }", true), None);
        assert_eq!(of("if (c) a[i] = 1; else a[i] = 2; if (i) b[i] = 1; else b[i] = 2;", true), None);
        assert_eq!(of("if (c) a[i] = 1;", true), None);
    }

    #[test]
    fn the_loop_around_all() {
        let text = "void f(float *a, int n) {\n  for (int i = 0; i < n; ++i) {\n    for (int j = 0; j < n; ++j) { a[j] = 1; }\n    a[i] = 2;\n  }\n  a[0] = 3;\n}\n";
        let tree = SyntaxTree::example("a.cu", text);
        let at = |words: &[&str]| {
            let offsets = words.iter().map(|word| text.find(word).unwrap()).collect();
            tree.loop_around_all(&offsets).map(|found| tree.line_of(found.start_byte()))
        };
        assert_eq!(at(&["a[j]", "++j"]), Some(3));
        assert_eq!(at(&["a[j]", "a[i]"]), Some(2));
        assert_eq!((at(&["a[j]", "a[0]"]), at(&[])), (None, None));
    }
}
