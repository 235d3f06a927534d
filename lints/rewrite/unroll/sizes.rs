//! The extents of local arrays, as declared.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};

/// What is subscripted: `a` of `a[i][j]`.
pub(super) fn base_of(subscript: Node<'_>) -> Node<'_> {
    std::iter::successors(Some(subscript), |it| Subscript::of(*it).and_then(Subscript::base))
        .last()
        .unwrap_or(subscript)
}

/// The extents of the array, or of the row of one, that a function gets. The first row may stand for all of them.
pub(super) fn given_sizes<'t>(tree: &'t SyntaxTree, array: Node<'t>) -> Option<Vec<Node<'t>>> {
    let mut base = array;
    let mut rows = 0;
    while let Some(subscript) = Subscript::of(base) {
        let index = subscript.index()?;
        if tree.value_of(index) == Some(0) {
            return None;
        }
        base = subscript.base()?;
        rows += 1;
    }
    let sizes = variable_sizes(tree, base, array).filter(|_| base.kind() == Kind::Identifier)?;
    sizes.get(rows..).filter(|left| !left.is_empty()).map(<[_]>::to_vec)
}

/// The extents of an array that is declared in the same function, the outermost first; also of a parameter that is a reference to an
/// array.
pub(super) fn variable_sizes<'t>(tree: &'t SyntaxTree, base: Node<'t>, used: Node<'t>) -> Option<Vec<Node<'t>>> {
    let declarations = tree.declarations(enclosing_function(used)?);
    let declaration = resolve(&declarations, tree.slice(base), used.start_byte())?;
    let name = tree.root()?.named_descendant_for_byte_range(declaration.range.0, declaration.range.1)?;
    let reference = name.parent().filter(|it| it.kind() == Kind::ReferenceDeclarator && declaration.is_parameter);
    let referred = reference.and_then(|it| it.parent()).filter(|it| it.kind() == Kind::ParenthesizedDeclarator);
    if referred.is_none() && (declaration.kind != DeclarationKind::Array || declaration.is_parameter) {
        return None;
    }
    let around = std::iter::successors(referred.unwrap_or(name).parent(), |node| node.parent());
    let arrays = around.take_while(|node| node.kind() == Kind::ArrayDeclarator);
    let sizes: Vec<Node<'t>> = arrays.map(|node| node.field(Field::Size)).collect::<Option<_>>()?;
    (declaration.type_text.matches('[').count() == sizes.len()).then_some(sizes)
}
