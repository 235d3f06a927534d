//! Variables that are declared with arguments in parentheses: `Span<float> view(row, n);`.
//!
//! The grammar cannot tell these from functions with unnamed parameters of the types `row` and `n`. C++ decides by what
//! the names stand for, and so does whoever resolves them: a name that is no variable belongs to a function.

use crate::ast::{Field, Kind, Node};

/// Whether a node is what may be an argument of such a declaration: the only word of a parameter, within a function.
pub fn is_argument(node: Node<'_>) -> bool {
    let is_only = |parameter: &Node<'_>| {
        parameter.kind() == Kind::ParameterDeclaration
            && parameter.child(1).is_none()
            && node.kind() == Kind::TypeIdentifier
    };
    let found = || {
        let list = node.parent().filter(is_only)?.parent()?;
        let declarator = list.parent().filter(|it| it.kind() == Kind::FunctionDeclarator)?;
        let is_list = declarator.field(Field::Parameters) == Some(list);
        let statement = declarator.parent().filter(|it| is_list && it.kind() == Kind::Declaration)?;
        Some(statement.parent()?.kind() == Kind::CompoundStatement)
    };
    found().unwrap_or(false)
}
