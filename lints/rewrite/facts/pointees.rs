//! What a pointer in a structure leads to, which is no part of the structure: `p.out[i]` of `struct P { float *out; int n; }`.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node, Subscript};
use cuda_syntax::identifiers::occurrences;
use cuda_syntax::tree::DeclarationKind;

use super::classes::members_named;
use super::getter::class_named;
use super::variables::variable;

/// Whether what a name stands in is an element that a pointer in a local object leads to.
pub fn is_pointee(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let found = || {
        let whole = name.parent().filter(|it| it.kind() == Kind::FieldExpression)?;
        let member = Member::of(whole).filter(|it| it.is_of_object() && it.object() == Some(name))?;
        let own = variable(tree, name).filter(|own| own.kind == DeclarationKind::Aggregate)?;
        let type_text = own.type_text.trim_start_matches("const ").trim();
        let is_object = !type_text.contains(['*', '&', '[']);
        let class = class_named(tree, type_text.split('<').next()?).filter(|_| is_object)?;
        // A constructor, or the first value of a member, may lead a pointer back to the object.
        if !is_filled_by_others(tree, class) {
            return None;
        }
        let mut declared = members_named(tree, class, tree.slice(member.name()?));
        let only = declared.next().filter(|_| declared.next().is_none())?;
        let mut around = only.parent()?;
        let mut dimensions = 0;
        while around.kind() == Kind::ArrayDeclarator {
            dimensions += 1;
            around = around.parent()?;
        }
        let subscripts = std::iter::successors(Some(whole), |node| {
            node.parent().filter(|parent| Subscript::of(*parent).is_some_and(|it| it.base() == Some(*node)))
        });
        Some(around.kind() == Kind::PointerDeclarator && subscripts.count() > dimensions + 1)
    };
    found().unwrap_or(false)
}

/// Whether a class has no constructors, and no member whose first value is an address.
fn is_filled_by_others(tree: &SyntaxTree, class: Node<'_>) -> bool {
    let (Some(name), Some(body)) = (class.field(Field::Name), class.field(Field::Body)) else { return false };
    let is_address = |value: Node<'_>| tree.slice(value).contains(['&', '(']) || tree.slice(value).contains("this");
    let first_values = body.named_children().flat_map(|member| member.fields(Field::DefaultValue));
    occurrences(tree.slice(body), tree.slice(name)).next().is_none() && !first_values.into_iter().any(is_address)
}
