//! Loops around an offset.

use std::ops::Range;

use crate::ast::{Field, Kind, Node};
use crate::tree::functions::enclosing_function;
use crate::tree::syntax_tree::SyntaxTree;

/// A loop in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopSyntax {
    /// From the keyword to the end of the loop header.
    pub range: Range<usize>,
    pub condition: Option<Range<usize>>,
    /// The `#pragma unroll …` before it.
    pub pragma: Option<Range<usize>>,
}

impl SyntaxTree {
    /// Loops around an offset within its function, innermost first.
    pub fn loops_around(&self, offset: usize) -> Vec<LoopSyntax> {
        let is_function = |node: &Node<'_>| matches!(node.kind(), Kind::FunctionDefinition | Kind::LambdaExpression);
        let around = self.node_at(offset).into_iter().flat_map(Node::ancestors).take_while(|node| !is_function(node));
        around.filter(|node| is_loop(*node)).filter_map(|node| self.loop_syntax(node)).collect()
    }

    /// All loops of the function that holds an offset.
    pub fn loops_in_function(&self, offset: usize) -> Vec<LoopSyntax> {
        let function = self.node_at(offset).and_then(enclosing_function);
        let loops = function.into_iter().flat_map(Node::descendants).filter(|node| is_loop(*node));
        loops.filter_map(|node| self.loop_syntax(node)).collect()
    }

    pub(super) fn loop_syntax(&self, node: Node<'_>) -> Option<LoopSyntax> {
        let body = node.field(Field::Body)?;
        let header_end = if node.kind() == Kind::DoStatement { node.start_byte() + 2 } else { body.start_byte() };
        let header = self.text().get(node.start_byte()..header_end)?.trim_end().len();
        let pragma = node.prev_named_sibling().filter(|before| self.slice(*before).trim_start().starts_with("#pragma"));
        let pragma = pragma.filter(|pragma| self.slice(*pragma).contains("unroll"));
        Some(LoopSyntax {
            range: node.start_byte()..node.start_byte() + header,
            condition: node.field(Field::Condition).map(|condition| condition.byte_range()),
            pragma: match pragma {
                Some(pragma) => {
                    let text = self.slice(pragma);
                    Some(pragma.start_byte()..pragma.start_byte() + text.trim_end().len())
                }
                None => self.attribute_before(node.start_byte()),
            },
        })
    }
}

pub fn is_loop(node: Node<'_>) -> bool {
    node.kind().is_loop()
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn loops_are_found() {
        let tree = tree();
        let loops = tree.loops_around(tree.offset(13, 31).unwrap());
        assert_eq!(&tree.text()[loops[0].range.clone()], "for (int k = 0; k < 4; ++k)");
        assert_eq!(&tree.text()[loops[0].pragma.clone().unwrap()], "#pragma unroll 1");
    }

    #[test]
    fn loops_of_a_function_are_found_from_the_start_of_its_line() {
        let text = "void f(int n) { while (n > 0) { n--; } }\nvoid g(int n) { for (;;) { n++; } do n--; while (n); }\n";
        let tree = SyntaxTree::example("a.cu", text);
        let headers = |offset: usize| -> Vec<&str> {
            tree.loops_in_function(offset).into_iter().map(|found| &text[found.range]).collect()
        };
        assert!(tree.loops_around(0).is_empty());
        assert_eq!(headers(0), ["while (n > 0)"]);
        assert_eq!(headers(text.find("void g").unwrap()), ["for (;;)", "do"]);
    }
}
