//! Casts to pointers and references, and their operands.

use super::syntax_tree::SyntaxTree;
use crate::ast::{Field, Kind, Node};

impl SyntaxTree {
    /// Type and operand of a cast to a pointer or reference; a macro that expands to a cast counts.
    pub fn cast<'t>(&self, node: Node<'t>) -> Option<(String, Node<'t>)> {
        match node.kind() {
            Kind::CastExpression => {
                let type_text = self.pointed_type(node.field(Field::Type)?)?;
                Some((type_text, node.field(Field::Value)?))
            }
            Kind::CallExpression => {
                let function = node.field(Field::Function)?;
                let operand = node.field(Field::Arguments)?.named_child(0)?;
                match function.kind() {
                    Kind::TemplateFunction => {
                        let name = function.field(Field::Name)?;
                        let arguments = function.field(Field::Arguments)?;
                        let is_cast = self.slice(name) == "reinterpret_cast";
                        let type_text = self.pointed_type(arguments.named_child(0)?).filter(|_| is_cast)?;
                        Some((type_text, operand))
                    }
                    Kind::Identifier => Some((self.macro_cast(self.slice(function))?, operand)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `float4` for the type `const float4*`.
    fn pointed_type(&self, descriptor: Node<'_>) -> Option<String> {
        let declarator = descriptor.field(Field::Declarator)?;
        let is_pointer =
            matches!(declarator.kind(), Kind::AbstractPointerDeclarator | Kind::AbstractReferenceDeclarator);
        let type_node = descriptor.field(Field::Type).filter(|_| is_pointer)?;
        Some(self.slice(type_node).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The target type of a macro such as `#define FLOAT4(x) (reinterpret_cast<float4*>(&(x))[0])`.
    fn macro_cast(&self, name: &str) -> Option<String> {
        let definitions = self.root().into_iter().flat_map(Node::children);
        let mut named = definitions.filter(|node| {
            node.kind() == Kind::PreprocFunctionDef
                && node.field(Field::Name).is_some_and(|node| self.slice(node) == name)
        });
        let body = named.next().filter(|_| named.next().is_none())?.field(Field::Value)?;
        let (_, rest) = self.slice(body).split_once("reinterpret_cast<")?;
        let (type_text, _) = rest.split_once(['*', '&'])?;
        let words: Vec<&str> =
            type_text.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile")).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// `v` for `&v`, `v + 4`, `&v[4 * k]`, `(void*)&v`.
    pub fn address_base<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        let inner = match node.kind() {
            Kind::Identifier => return Some(node),
            Kind::ParenthesizedExpression => node.named_child(0)?,
            Kind::PointerExpression if node.child(0).is_some_and(|operator| operator.is_token("&")) => {
                node.field(Field::Argument)?
            }
            Kind::SubscriptExpression => node.field(Field::Argument)?,
            Kind::FieldExpression if node.field(Field::Operator).is_none_or(|node| node.is_token(".")) => {
                node.field(Field::Argument)?
            }
            Kind::BinaryExpression => node.field(Field::Left)?,
            _ => self.cast(node)?.1,
        };
        self.address_base(inner)
    }
}
