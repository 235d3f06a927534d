//! Names of variables outside of all functions, and what may hide them.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::Kind;
use cuda_syntax::identifiers::occurrences;

/// Whether a name may be that of a member, of a class around or of one of its bases, which hides a variable outside; or may be declared
/// by a macro.
pub fn may_be_member(tree: &SyntaxTree, name: &str) -> bool {
    let is_member = tree.nodes_of(&[Kind::FieldIdentifier]).any(|node| tree.slice(node) == name);
    let is_in_macro =
        tree.nodes_of(&[Kind::PreprocArg]).any(|body| occurrences(tree.slice(body), name).next().is_some());
    let is_given_in_class = || {
        let classes = tree.nodes_of(&[Kind::StructSpecifier, Kind::ClassSpecifier]);
        let mut mentions = classes.flat_map(|class| tree.named(class, name).collect::<Vec<_>>());
        mentions.any(|node| !tree.compiled().is_verbatim(&node.byte_range()))
    };
    is_member || is_in_macro || is_given_in_class()
}
