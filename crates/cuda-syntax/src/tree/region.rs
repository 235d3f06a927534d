//! The statement, or part of a header, that contains an offset.

use crate::ast::{Field, Kind, Node};
use crate::tree::loops::is_loop;
use crate::tree::syntax_tree::SyntaxTree;

impl SyntaxTree {
    /// The statement, or the part of a loop or branch header, that contains an offset.
    pub fn region(&self, offset: usize) -> Option<Node<'_>> {
        let end = (offset + 1).min(self.text().len());
        let mut node = self.root()?.named_descendant_for_byte_range(offset, end)?;
        loop {
            if is_statement(node) {
                return Some(node);
            }
            let parent = node.parent()?;
            if has_header(parent) && parent.field(Field::Body) != Some(node) {
                // A part of the header; the keyword itself belongs to the whole header.
                return Some(node);
            }
            if node.kind() == Kind::FunctionDefinition
                || matches!(parent.kind(), Kind::CompoundStatement | Kind::TranslationUnit | Kind::DeclarationList)
            {
                return Some(node);
            }
            node = parent;
        }
    }
}

/// Whether a child block is a region of its own. A body without braces is not: the compiler gives it the position of
/// its loop or branch. A block on one line is not either: the compiler does not distinguish its statements.
pub fn is_separate_block(parent: Node<'_>, child: Node<'_>) -> bool {
    let is_long = child.start_row() != child.end_row();
    child.kind() == Kind::CompoundStatement && is_long && parent.kind() != Kind::LambdaExpression
}

/// The nodes of a region, without blocks that are regions of their own.
pub fn nodes_of(region: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    region.descendants_through(|node, child| !is_separate_block(node, child))
}

fn has_header(node: Node<'_>) -> bool {
    is_loop(node) || node.kind() == Kind::SwitchStatement
}

fn is_statement(node: Node<'_>) -> bool {
    let is_for_part = node.parent().is_some_and(has_header);
    match node.kind() {
        Kind::ExpressionStatement
        | Kind::ReturnStatement
        | Kind::ThrowStatement
        | Kind::IfStatement
        | Kind::SwitchStatement
        | Kind::CaseStatement => true,
        Kind::Declaration => !is_for_part,
        _ => is_loop(node),
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::syntax_tree::SyntaxTree;

    #[test]
    fn functions_on_one_line_are_one_region() {
        let text = "__global__ void dbl(double* p) { volatile int acc = 0; p[threadIdx.x] = sin(p[acc]); }\nint a;\n";
        let tree = SyntaxTree::example("a.cu", text);
        for column in [1, 56] {
            let region = tree.region(tree.offset(1, column).unwrap()).unwrap();
            let calls: Vec<String> = tree.calls(region).iter().map(|(name, _)| name.clone()).collect();
            let names: Vec<String> =
                tree.mentions(region).iter().map(|mention| mention.declaration.name.clone()).collect();
            assert_eq!(
                (calls, names.contains(&"acc".to_string())),
                (vec!["sin".to_string()], true),
                "column {column}: {}",
                tree.slice(region)
            );
        }
    }
}
