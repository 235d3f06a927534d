//! Names of variables outside of all functions, and what may hide them.

use std::collections::HashSet;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::Kind;
use cuda_syntax::identifiers::identifiers;

/// Whether a name may be that of a member, of a class around or of one of its bases, which hides a variable outside; or may be declared
/// by a macro.
pub fn may_be_member(tree: &SyntaxTree, name: &str) -> bool {
    tree.kept(HidingNames::of).0.contains(name)
}

/// The names of members, those in the text of macros, and those in classes that macros are given.
struct HidingNames(HashSet<String>);

impl HidingNames {
    fn of(tree: &SyntaxTree) -> Self {
        let members = tree.nodes_of(&[Kind::FieldIdentifier]).map(|node| tree.slice(node).to_string());
        let of_macros = tree.nodes_of(&[Kind::PreprocArg]).flat_map(|body| identifiers(tree.slice(body)));
        let given = tree.nodes_of(&[Kind::Identifier, Kind::TypeIdentifier]).filter(|node| {
            let is_class = |kind: Kind| matches!(kind, Kind::StructSpecifier | Kind::ClassSpecifier);
            !tree.compiled().is_verbatim(&node.byte_range()) && node.ancestors().any(|around| is_class(around.kind()))
        });
        let given = given.map(|node| tree.slice(node).to_string());
        Self(members.chain(of_macros.map(str::to_string)).chain(given).collect())
    }
}
