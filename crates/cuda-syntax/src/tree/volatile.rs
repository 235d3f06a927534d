//! The object of a `volatile` qualifier: a value, a pointer, a member.

use super::declarations::POINTER_BYTES;
use crate::ast::{Field, Kind, Node};
use crate::tree::declarations::{Declaration, DeclarationKind};
use crate::tree::syntax_tree::SyntaxTree;

/// The object that is `volatile`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Volatility {
    /// `volatile float x`
    Value,
    /// `float* volatile p`: the pointer, not its pointee.
    Pointer,
    /// A member of the type, by name.
    Member(String),
}

impl SyntaxTree {
    /// Records what is volatile. A pointer that is itself volatile becomes a variable, not an alias.
    pub(super) fn qualified(&self, declaration: Declaration, declarator: Node<'_>, is_volatile: bool) -> Declaration {
        let mut innermost = None;
        let mut node = Some(declarator);
        while let Some(current) = node {
            if matches!(current.kind(), Kind::PointerDeclarator | Kind::ReferenceDeclarator) {
                innermost = Some(current);
            }
            node = current.field(Field::Declarator);
        }
        let is_volatile_pointer = innermost.is_some_and(|pointer| self.has_volatile(pointer));
        match (is_volatile_pointer, innermost.is_some() || declaration.kind == DeclarationKind::Alias) {
            (true, _) if declaration.kind == DeclarationKind::Alias => Declaration {
                volatility: Some(Volatility::Pointer),
                kind: DeclarationKind::Scalar,
                bytes: Some(POINTER_BYTES),
                type_text: format!("{} volatile", declaration.type_text),
                ..declaration
            },
            // `volatile auto x = *p;` is a variable of its own, whatever `auto` stands for.
            (false, true) if is_volatile && innermost.is_none() => {
                Declaration { volatility: Some(Volatility::Value), kind: DeclarationKind::Scalar, ..declaration }
            }
            (false, false) if is_volatile => Declaration { volatility: Some(Volatility::Value), ..declaration },
            _ => declaration,
        }
    }

    /// The first `volatile` member of a structure defined in the text.
    pub fn volatile_member(&self, type_name: &str) -> Option<String> {
        let is_it = |node: &Node<'_>| node.field(Field::Name).is_some_and(|name| self.slice(name) == type_name);
        let kinds = [Kind::StructSpecifier, Kind::ClassSpecifier, Kind::UnionSpecifier];
        let body = self.nodes_of(&kinds).filter(is_it).find_map(|node| node.field(Field::Body))?;
        let mut members = body.children().filter(|member| member.kind() == Kind::FieldDeclaration);
        members.find_map(|member| self.volatile_name(member))
    }

    /// The name of a member whose declaration makes the member itself volatile.
    fn volatile_name(&self, member: Node<'_>) -> Option<String> {
        let mut declarators = member.fields(Field::Declarator);
        declarators.find_map(|declarator| {
            let mut node = declarator;
            let mut pointer = None;
            while let Some(inner) = node.field(Field::Declarator) {
                pointer = (node.kind() == Kind::PointerDeclarator).then_some(node).or(pointer);
                node = inner;
            }
            self.has_volatile(pointer.unwrap_or(member)).then(|| self.slice(node).to_string())
        })
    }

    /// Whether `volatile` is a direct child of a declaration or declarator.
    pub(super) fn has_volatile(&self, node: Node<'_>) -> bool {
        node.children().any(|child| self.slice(child) == "volatile")
    }
}
