//! Scalar replacement of a kernel parameter: written members become variables, and the parameter is read in place.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node, Pointer};
use cuda_syntax::identifiers::fresh;
use cuda_syntax::tree::{access_path, enclosing_function, first_statement, is_callee, role};
use lmem_base::diagnostic::Applicability;
use lmem_base::source::Span;
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::sites::trees;

/// The replaced members with the edits: `auto next = parameter.next;` at the kernel's start, and `next` for
/// `parameter.next` in its body. `None` if the parameter is used other than by its members.
pub fn scalar_replacement(object: &StackObject, parameter: &Span) -> Option<(Vec<String>, Rewrite)> {
    trees(object).into_iter().find_map(|tree| replaced(tree, tree.offset_of(parameter)?))
}

fn replaced(tree: &SyntaxTree, parameter: usize) -> Option<(Vec<String>, Rewrite)> {
    let name_node = tree.node_at(parameter)?;
    let name = tree.slice(name_node);
    let body = enclosing_function(name_node)?.field(Field::Body)?;
    let first = first_statement(enclosing_function(name_node)?)?;
    let uses = uses(tree, body, name)?;
    let mut members: Vec<String> = Vec::new();
    for (field, member) in &uses {
        let path = access_path(*field);
        let (_, is_written, is_handed_on) = role(path);
        // An element behind a subscript is either not in the parameter, or in an array, which `auto` would turn into a
        // pointer.
        if is_written && !is_handed_on && !has_subscript(path, *field) && !members.contains(member) {
            members.push(member.clone());
        }
    }
    if members.is_empty() {
        return None;
    }
    let own = |member: &str| fresh(tree.text(), &format!("{name}_{member}"), &[]);
    let declarations: Vec<String> =
        members.iter().map(|member| format!("auto {} = {name}.{member};", own(member))).collect();
    let mut edits = vec![tree.line_before(first.start_byte(), &declarations.join(" "))?];
    for (field, member) in uses.iter().filter(|(_, member)| members.contains(member)) {
        edits.push(tree.replacement(field.byte_range(), &own(member))?);
    }
    let is_plain = uses.iter().all(|(field, _)| tree.is_plain(*field)) && tree.is_plain(first);
    let rewrite = Rewrite::new(Applicability::MaybeIncorrect, edits).within_kernel(true);
    is_plain.then_some((members, rewrite))
}

/// The expressions `parameter.member` in a body, with their members; `None` for any other use of the parameter.
fn uses<'t>(tree: &SyntaxTree, body: Node<'t>, name: &str) -> Option<Vec<(Node<'t>, String)>> {
    let mut found = Vec::new();
    for node in tree.named(body, name) {
        let member = Member::of(node.parent()?)?;
        let field = member.node();
        let is_address = field.parent().and_then(Pointer::of).is_some_and(Pointer::is_address);
        if member.object()? != node || is_callee(field) || is_address {
            return None;
        }
        found.push((field, tree.slice(member.name()?).to_string()));
    }
    Some(found)
}

fn has_subscript(path: Node<'_>, field: Node<'_>) -> bool {
    let mut node = field;
    while node != path {
        let Some(parent) = node.parent() else { return true };
        if parent.kind() == Kind::SubscriptExpression {
            return true;
        }
        node = parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    fn edited(body: &str) -> Option<String> {
        let text = format!("__global__ void k(State s, float* out)\n{{\n  {body}\n}}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let (_, rewrite) = replaced(&tree, text.find("s,")?)?;
        let edited = apply(&text, &rewrite.edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().skip(2).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn written_members_become_variables() {
        assert_eq!(
            edited("s.next += 4; s.out[0] = s.table[s.next] + s.origin.x;").as_deref(),
            Some("auto s_next = s.next; s_next += 4; s.out[0] = s.table[s_next] + s.origin.x;")
        );
        assert_eq!(
            edited("s.origin.x = 0; ++s.n; out[s.n] = s.origin.y;").as_deref(),
            Some("auto s_origin = s.origin; auto s_n = s.n; s_origin.x = 0; ++s_n; out[s_n] = s_origin.y;")
        );
    }

    #[test]
    fn other_uses_are_left_alone() {
        for body in [
            "s.table[0] = 1;",
            "s.next = 1; use(s);",
            "s.next = 1; use(&s.next);",
            "s.next = 1; s.advance();",
            "out[0] = s.next;",
            "State& r = s; r.next = 1; s.next = 2;",
        ] {
            assert_eq!(edited(body), None, "{body}");
        }
    }
}
