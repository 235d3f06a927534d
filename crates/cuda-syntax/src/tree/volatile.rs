//! What `volatile` makes volatile: a value, a pointer, a member.

use tree_sitter::Node;

use super::children;
use super::declarations::POINTER_BYTES;
use crate::tree::declarations::{Declaration, DeclarationKind};
use crate::tree::view::SourceView;

/// What `volatile` makes volatile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Volatility {
    /// `volatile float x`
    Value,
    /// `float* volatile p`: the pointer, and not what it points to.
    Pointer,
    /// A member of its type, by name.
    Member(String),
}

impl SourceView {
    /// Tells what is volatile. A pointer that is itself volatile is a variable as others are, and no alias.
    pub(super) fn qualified(&self, declaration: Declaration, declarator: Node<'_>, is_volatile: bool) -> Declaration {
        let mut innermost = None;
        let mut node = Some(declarator);
        while let Some(current) = node {
            if matches!(current.kind(), "pointer_declarator" | "reference_declarator") {
                innermost = Some(current);
            }
            node = current.child_by_field_name("declarator");
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
            (false, false) if is_volatile => Declaration { volatility: Some(Volatility::Value), ..declaration },
            _ => declaration,
        }
    }

    /// The first `volatile` member of a structure that the text defines.
    pub fn volatile_member(&self, type_name: &str) -> Option<String> {
        let mut open: Vec<Node<'_>> = self.root().into_iter().collect();
        while let Some(node) = open.pop() {
            let is_it = matches!(node.kind(), "struct_specifier" | "class_specifier" | "union_specifier")
                && node.child_by_field_name("name").is_some_and(|name| self.slice(name) == type_name);
            if let Some(body) = node.child_by_field_name("body").filter(|_| is_it) {
                let mut members = children(body).into_iter().filter(|member| member.kind() == "field_declaration");
                return members.find_map(|member| self.volatile_name(member));
            }
            open.extend(children(node));
        }
        None
    }

    /// The name that a member's declaration makes volatile itself.
    fn volatile_name(&self, member: Node<'_>) -> Option<String> {
        let mut cursor = member.walk();
        let mut declarators = member.children_by_field_name("declarator", &mut cursor);
        declarators.find_map(|declarator| {
            let mut node = declarator;
            let mut pointer = None;
            while let Some(inner) = node.child_by_field_name("declarator") {
                pointer = (node.kind() == "pointer_declarator").then_some(node).or(pointer);
                node = inner;
            }
            self.has_volatile(pointer.unwrap_or(member)).then(|| self.slice(node).to_string())
        })
    }

    /// Whether the word itself stands in a declaration or declarator.
    pub(super) fn has_volatile(&self, node: Node<'_>) -> bool {
        children(node).into_iter().any(|child| self.slice(child) == "volatile")
    }
}
