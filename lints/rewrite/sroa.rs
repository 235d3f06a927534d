//! Scalar replacement of a kernel parameter: written members become variables, and the parameter is read in place.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node, Pointer};
use cuda_syntax::tree::{access_path, enclosing_function, first_statement, is_callee, role};
use lmem_base::diagnostic::Applicability;
use lmem_base::source::Span;
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::binding::declares_value;
use super::facts::classes::is_plain_member;
use super::facts::evaluation::{is_list_of_values, is_value_argument};
use super::facts::sites::trees;
use super::facts::taken::may_keep_references;

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
    let declared = name_node.ancestors().find(|node| node.is_parameter_declaration())?;
    let class = tree.slice(declared.field(Field::Type)?);
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
    if members.is_empty() || !members.iter().all(|member| is_plain_member(tree, class, member)) {
        return None;
    }
    let own = |member: &str| tree.fresh(&format!("{name}_{member}"), &[]);
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
fn uses<'t>(tree: &'t SyntaxTree, body: Node<'t>, name: &str) -> Option<Vec<(Node<'t>, String)>> {
    let mut found = Vec::new();
    for node in tree.named(body, name) {
        let member = Member::of(node.parent()?)?;
        let field = member.node();
        if member.object()? != node || is_callee(access_path(field)) || has_address(tree, field) {
            return None;
        }
        found.push((field, tree.slice(member.name()?).to_string()));
    }
    Some(found)
}

/// Whether the address of a member is taken, or a reference is bound to it: its neighbours can be reached from there.
fn has_address(tree: &SyntaxTree, field: Node<'_>) -> bool {
    let path = access_path(field);
    let is_address = |node: Node<'_>| node.parent().and_then(Pointer::of).is_some_and(Pointer::is_address);
    let is_bound = path.parent().is_some_and(|parent| match parent.kind() {
        Kind::InitDeclarator => !declares_value(tree, parent),
        Kind::InitializerList => !is_list_of_values(tree, parent) || may_keep_references(tree),
        Kind::ConditionalExpression => parent.field(Field::Condition) != Some(path),
        Kind::ArgumentList => !has_subscript(path, field) && !is_value_argument(tree, parent),
        Kind::LambdaExpression | Kind::ReturnStatement | Kind::ForRangeLoop => true,
        _ => false,
    });
    is_address(field) || is_address(path) || is_bound
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
        let classes = "\
struct State { int next, n; unsigned at : 4; volatile int flag; float *out, *table; float row[4]; float3 origin; union { unsigned bits; float value; }; };
__device__ void take(float& x); __device__ float twice(float x) { return x * 2; }";
        let text = format!("{classes}\n__global__ void k(State s, float* out)\n{{\n  {body}\n}}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let (_, rewrite) = replaced(&tree, text.find("s, float* out")?)?;
        let edited = apply(&text, &rewrite.edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().skip(4).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn written_members_become_variables() {
        assert_eq!(
            edited("s.next += 4; s.out[0] = s.table[s.next] + s.origin.x;").as_deref(),
            Some("auto s_next = s.next; s_next += 4; s.out[0] = s.table[s_next] + s.origin.x;")
        );
        assert_eq!(
            edited("s.next += 4; out[s.next] = twice(s.next);").as_deref(),
            Some("auto s_next = s.next; s_next += 4; out[s_next] = twice(s_next);")
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
            // A bit-field, a union, a member that others may change, and what the class does not have.
            "s.at += 5; out[0] = s.at;",
            "s.bits += 5; out[0] = s.value;",
            "s.flag = 1; out[0] = s.flag;",
            "s.elsewhere = 1;",
            // Neighbours are reached from a member.
            "s.next = 1; out[0] = (&(s.next))[1];",
            "s.next = 1; const int& one = s.next; out[0] = (&one)[1];",
            "s.origin.x = 1; const float& one = s.origin.y; out[0] = (&one)[1];",
            "s.n = 1; take(s.origin.x);",
        ] {
            assert_eq!(edited(body), None, "{body}");
        }
    }
}
