//! Types whose variables are made without running any code, as far as the text shows it.
//!
//! Variables of shared memory are not constructed: nvcc only warns where a constructor would have something to do.

use tree_sitter::Node;

use cuda_syntax::tree::children;
use cuda_syntax::{SourceView, types};

/// Types in types, and names for names, are followed this far.
const MAX_STEPS: usize = 6;

/// Whether a type has no constructor with anything to do. `argument` gives what the parameter of a template stands for.
pub fn is_plain(view: &SourceView, type_text: &str, argument: &dyn Fn(&str) -> Option<String>) -> bool {
    is_plain_within(view, type_text, argument, MAX_STEPS)
}

fn is_plain_within(
    view: &SourceView,
    type_text: &str,
    argument: &dyn Fn(&str) -> Option<String>,
    steps: usize,
) -> bool {
    let words: Vec<&str> = type_text.split_whitespace().filter(|word| !matches!(*word, "struct" | "enum")).collect();
    let name = words.join(" ");
    if types::size_of(&name).is_some() {
        return true;
    }
    let Some(steps) = steps.checked_sub(1) else { return false };
    if let Some(argument) = argument(&name) {
        return types::size_of(&argument).is_some();
    }
    let definitions = definitions(view, &name);
    let is_plain = |text: &str| is_plain_within(view, text, argument, steps);
    match definitions.as_slice() {
        [definition] => match definition.kind() {
            "enum_specifier" => true,
            "alias_declaration" | "type_definition" => definition.child_by_field_name("type").is_some_and(|aliased| {
                match aliased.child_by_field_name("body") {
                    Some(body) if aliased.kind() != "enum_specifier" => has_plain_members(view, &name, body, &is_plain),
                    Some(_) => true,
                    None => is_plain(view.slice(aliased)),
                }
            }),
            _ => {
                let body = definition.child_by_field_name("body");
                let has_base = children(*definition).iter().any(|child| child.kind() == "base_class_clause");
                body.is_some_and(|body| !has_base && has_plain_members(view, &name, body, &is_plain))
            }
        },
        _ => false,
    }
}

/// What the text defines as a type of a name, templates aside.
fn definitions<'v>(view: &'v SourceView, name: &str) -> Vec<Node<'v>> {
    let mut found = Vec::new();
    let mut open: Vec<Node<'v>> = view.root().into_iter().collect();
    while let Some(node) = open.pop() {
        let named = match node.kind() {
            "struct_specifier" | "class_specifier" | "union_specifier" | "enum_specifier" => {
                node.child_by_field_name("name").filter(|_| node.child_by_field_name("body").is_some())
            }
            "alias_declaration" => node.child_by_field_name("name"),
            "type_definition" => node.child_by_field_name("declarator").filter(|it| it.kind() == "type_identifier"),
            _ => None,
        };
        let is_template = node.parent().is_some_and(|parent| parent.kind() == "template_declaration");
        if named.is_some_and(|named| view.slice(named) == name) && !is_template {
            found.push(node);
        }
        open.extend(children(node));
    }
    found
}

/// Whether the members are plain themselves, none has a value to start with, and no function is a constructor.
fn has_plain_members(view: &SourceView, name: &str, body: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    children(body).into_iter().filter(Node::is_named).all(|member| match member.kind() {
        "comment" | "access_specifier" => true,
        "field_declaration" => {
            let is_pointer =
                member.child_by_field_name("declarator").is_some_and(|node| node.kind() == "pointer_declarator");
            let type_node = member.child_by_field_name("type");
            let is_function =
                member.child_by_field_name("declarator").is_some_and(|node| node.kind() == "function_declarator");
            let is_plain = type_node.is_some_and(|node| is_function || is_pointer || is_plain(view.slice(node)));
            member.child_by_field_name("default_value").is_none() && is_plain
        }
        "function_definition" => {
            let declarator = member.child_by_field_name("declarator");
            let called = declarator.and_then(|declarator| declarator.child_by_field_name("declarator"));
            called.is_some_and(|called| view.slice(called).trim_start_matches('~') != name)
        }
        _ => false,
    })
}
