//! The variables of a function, by the names that stand for them.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::Node;
use cuda_syntax::tree::{Declaration, enclosing_function, resolve};

/// The variable of the function around that a name stands for.
pub fn variable(tree: &SyntaxTree, name: Node<'_>) -> Option<Declaration> {
    let all = tree.declarations(enclosing_function(name)?);
    resolve(&all, tree.slice(name), name.start_byte()).cloned()
}

/// The uses of the variable of a function that is declared at a name.
pub fn uses_of<'t>(tree: &'t SyntaxTree, declared: Node<'t>) -> Option<Vec<Node<'t>>> {
    let function = enclosing_function(declared)?;
    let all = tree.declarations(function);
    let own = resolve(&all, tree.slice(declared), declared.start_byte())?;
    let mut names = tree.names_of(function, &all, own);
    names.retain(|name| *name != declared);
    Some(names)
}
