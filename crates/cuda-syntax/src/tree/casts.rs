//! Casts to pointers and references, and what they are made of.

use tree_sitter::Node;

use super::children;
use super::view::SourceView;

impl SourceView {
    /// Type and operand of a cast to a pointer or reference; a macro that is one counts.
    pub fn cast<'t>(&self, node: Node<'t>) -> Option<(String, Node<'t>)> {
        match node.kind() {
            "cast_expression" => {
                let type_text = self.pointed_type(node.child_by_field_name("type")?)?;
                Some((type_text, node.child_by_field_name("value")?))
            }
            "call_expression" => {
                let function = node.child_by_field_name("function")?;
                let operand = node.child_by_field_name("arguments")?.named_child(0)?;
                match function.kind() {
                    "template_function" => {
                        let name = function.child_by_field_name("name")?;
                        let arguments = function.child_by_field_name("arguments")?;
                        let is_cast = self.slice(name) == "reinterpret_cast";
                        let type_text = self.pointed_type(arguments.named_child(0)?).filter(|_| is_cast)?;
                        Some((type_text, operand))
                    }
                    "identifier" => Some((self.macro_cast(self.slice(function))?, operand)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `float4` of the type `const float4*`.
    fn pointed_type(&self, descriptor: Node<'_>) -> Option<String> {
        let declarator = descriptor.child_by_field_name("declarator")?;
        let is_pointer = matches!(declarator.kind(), "abstract_pointer_declarator" | "abstract_reference_declarator");
        let type_node = descriptor.child_by_field_name("type").filter(|_| is_pointer)?;
        Some(self.slice(type_node).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The type that a macro such as `#define FLOAT4(x) (reinterpret_cast<float4*>(&(x))[0])` casts to.
    fn macro_cast(&self, name: &str) -> Option<String> {
        let definitions = self.root().map(children).unwrap_or_default().into_iter();
        let mut named = definitions.filter(|node| {
            node.kind() == "preproc_function_def"
                && node.child_by_field_name("name").is_some_and(|node| self.slice(node) == name)
        });
        let body = named.next().filter(|_| named.next().is_none())?.child_by_field_name("value")?;
        let (_, rest) = self.slice(body).split_once("reinterpret_cast<")?;
        let (type_text, _) = rest.split_once(['*', '&'])?;
        let words: Vec<&str> =
            type_text.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile")).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// `v` of `&v`, `v + 4`, `&v[4 * k]`, `(void*)&v`.
    pub fn address_base<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        let inner = match node.kind() {
            "identifier" => return Some(node),
            "parenthesized_expression" => node.named_child(0)?,
            "pointer_expression" if node.child(0).is_some_and(|operator| operator.kind() == "&") => {
                node.child_by_field_name("argument")?
            }
            "subscript_expression" => node.child_by_field_name("argument")?,
            "field_expression" if node.child_by_field_name("operator").is_none_or(|node| node.kind() == ".") => {
                node.child_by_field_name("argument")?
            }
            "binary_expression" => node.child_by_field_name("left")?,
            _ => self.cast(node)?.1,
        };
        self.address_base(inner)
    }
}
