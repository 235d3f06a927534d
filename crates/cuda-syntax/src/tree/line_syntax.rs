//! Several statements on one line.
//!
//! nvcc's front end records positions by line: later statements of a line get the column of the first one.

use std::rc::Rc;

use super::call_syntax::CallSyntax;
use super::syntax_tree::SyntaxTree;
use crate::ast::{Kind, Node};
use crate::tree::declarations::Declaration;

impl SyntaxTree {
    /// The statement at an offset, and the later statements that begin on the same line.
    pub fn regions(&self, offset: usize) -> Vec<Node<'_>> {
        let known = self.memory.regions.borrow().get(&offset).map(Rc::clone);
        if let Some(known) = known {
            return known.iter().filter_map(|id| self.node(*id)).collect();
        }
        let found = self.find_regions(offset);
        self.memory.regions.borrow_mut().insert(offset, found.iter().map(|node| node.id()).collect());
        found
    }

    fn find_regions(&self, offset: usize) -> Vec<Node<'_>> {
        let Some(first) = self.region(offset) else { return Vec::new() };
        let is_alone = first.start_byte() > offset || self.line_of(first.start_byte()) != self.line_of(offset);
        if is_alone || !is_in_list(first) {
            return vec![first];
        }
        let row = first.start_row();
        let behind = std::iter::successors(first.next_named_sibling(), Node::next_named_sibling);
        let behind = behind.take_while(|next| next.start_row() == row);
        std::iter::once(first).chain(behind.filter(|next| next.kind() != Kind::Comment)).collect()
    }

    /// Whether a variable is declared `const` or `constexpr`.
    pub fn is_declared_constant(&self, declaration: &Declaration) -> bool {
        let (start, end) = declaration.range;
        let name = self.root().and_then(|root| root.named_descendant_for_byte_range(start, end));
        let mut around = std::iter::successors(name, |node| node.parent());
        let declared = around.find(|node| node.kind() == Kind::Declaration);
        let words = declared.into_iter().flat_map(Node::children);
        words.into_iter().any(|word| matches!(self.slice(word), "const" | "constexpr"))
    }

    /// Calls of a function in the statements at an offset.
    pub fn calls_at(&self, offset: usize, function: &str) -> Vec<CallSyntax> {
        self.regions(offset).into_iter().flat_map(|region| self.calls_of(region, function)).collect()
    }
}

/// Whether a node is a statement in a block, not a part of a loop header.
fn is_in_list(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| matches!(parent.kind(), Kind::CompoundStatement | Kind::CaseStatement))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "__global__ void k(float* b, int c) {
  for (int i = 0; i < c; ++i) {
    float s = b[c]; b[c] = b[i]; b[i] = s;
    if (c) return; // done
  }
}
";

    #[test]
    fn statements_of_a_line_go_together() {
        let tree = SyntaxTree::example("a.cu", TEXT);
        let count = |line, column| tree.regions(tree.offset(line, column).unwrap()).len();
        assert_eq!((count(3, 5), count(3, 21), count(4, 5), count(2, 19)), (3, 2, 1, 1));
    }
}
