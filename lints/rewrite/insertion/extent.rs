//! The extent of an array that is indexed, as its declaration has it.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};

use crate::rewrite::facts::classes::member_array;
use crate::rewrite::unroll::parameter::given_extents;

/// The extent of the first dimension of `a` in `a[i]`: of a local array, a reference to an array, a member of the class
/// around, or a member that only one class has. A pointer does not show it, nor does a parameter `float a[8]`: that has the extent of
/// the arrays at all calls.
pub(super) fn extent_of(tree: &SyntaxTree, base: Node<'_>) -> Option<String> {
    let at = base.start_byte();
    let size = match base.kind() {
        Kind::Identifier => {
            let all = tree.declarations(enclosing_function(base)?);
            match resolve(&all, tree.slice(base), at) {
                Some(own) => {
                    let is_fit = own.kind == DeclarationKind::Array || own.is_parameter;
                    let name = tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
                    let size = size_of_declarator(name, own.is_parameter);
                    if size.is_none() && own.is_parameter && own.volatility.is_none() {
                        let [extent] = &*given_extents(tree, base)? else { return None };
                        return Some(extent.clone()).filter(|text| is_plain(text));
                    }
                    size.filter(|_| is_fit && own.volatility.is_none())?
                }
                None => member_array(tree, base).and_then(|name| size_of_declarator(name, false))?,
            }
        }
        Kind::FieldExpression => only_member(tree, tree.slice(Member::of(base)?.name()?))?,
        _ => return None,
    };
    let is_member = size.ancestors().any(|it| it.kind() == Kind::FieldDeclaration);
    let text = match is_member && enclosing_class(base) != enclosing_class(size) {
        true => tree.settled_value_of(size)?.to_string(),
        false => tree.spelled(size, at)?,
    };
    is_plain(&text).then_some(text)
}

fn is_plain(text: &str) -> bool {
    // `Policy::K` is a name of several words.
    !text.is_empty() && text.replace("::", "").chars().all(|c| c.is_alphanumeric() || "_ *+-()".contains(c))
}

/// `8` of `a[8]`, and of `(&a)[8]` where it is a parameter.
fn size_of_declarator(name: Node<'_>, is_parameter: bool) -> Option<Node<'_>> {
    let (mut node, mut is_reference) = (name.parent()?, false);
    while matches!(node.kind(), Kind::ParenthesizedDeclarator | Kind::ReferenceDeclarator) {
        is_reference |= node.kind() == Kind::ReferenceDeclarator;
        node = node.parent()?;
    }
    let array = (node.kind() == Kind::ArrayDeclarator && is_reference == is_parameter).then_some(node)?;
    array.field(Field::Size)
}

/// The member array with a name, if the text declares the name once as a member.
fn only_member<'t>(tree: &'t SyntaxTree, name: &str) -> Option<Node<'t>> {
    let is_declared = |node: &Node<'_>| {
        tree.slice(*node) == name
            && node.parent().is_some_and(|it| it.is_declarator() || it.kind() == Kind::FieldDeclaration)
    };
    let mut names = tree.nodes_of(&[Kind::FieldIdentifier]).filter(is_declared);
    let only = names.next().filter(|_| names.next().is_none() && !tree.is_declared_beside(name))?;
    size_of_declarator(only, false)
}

fn enclosing_class(node: Node<'_>) -> Option<Node<'_>> {
    node.ancestors().find(|it| matches!(it.kind(), Kind::StructSpecifier | Kind::ClassSpecifier))
}
