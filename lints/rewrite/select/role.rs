//! The role of an element in its statement.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node, Pointer};

use crate::rewrite::facts::binding::{declares_value, is_declaration, is_value};
use crate::rewrite::facts::evaluation::{is_list_of_values, is_value_argument, returns_value};
use crate::rewrite::facts::exchanged::exchanged;
use crate::rewrite::select::reference::last_use;

/// The role of an element in its statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role<'t> {
    Read,
    /// The statement is this assignment, increment or decrement.
    Write(Node<'t>),
    /// The statement uses the value of this increment or decrement.
    Step(Node<'t>),
    /// The statement is this call, which exchanges the element with another value.
    Exchange(Node<'t>),
    /// The statement declares a reference or a pointer to the element, which this statement of the block needs last.
    Reference(Node<'t>),
}

/// The role of an element; `None` if the element may be written in a way not visible in the statement.
pub(super) fn role<'t>(tree: &SyntaxTree, expression: Node<'t>) -> Option<Role<'t>> {
    if let Some(last) = last_use(tree, expression) {
        return Some(Role::Reference(last));
    }
    let mut node = expression;
    loop {
        let parent = node.parent()?;
        let is_field = |field: Field| parent.field(field) == Some(node);
        let is_statement = parent.parent().is_some_and(|around| around.kind() == Kind::ExpressionStatement);
        let is_direct = node == expression;
        match parent.kind() {
            Kind::AssignmentExpression if is_field(Field::Left) => {
                return (is_statement && is_direct).then_some(Role::Write(parent));
            }
            Kind::UpdateExpression if is_direct && !is_statement => return Some(Role::Step(parent)),
            Kind::UpdateExpression => return is_direct.then_some(Role::Write(parent)),
            Kind::ParenthesizedExpression => {}
            Kind::ConditionalExpression if !is_field(Field::Condition) => {}
            Kind::ArgumentList => {
                let call = parent.parent().filter(|_| is_direct).and_then(Call::of);
                let is_alone =
                    |call: &Call<'_>| call.node().parent().is_some_and(|it| it.kind() == Kind::ExpressionStatement);
                let exchange = call.filter(|call| is_alone(call) && exchanged(tree, *call).is_some());
                return match exchange {
                    Some(call) => Some(Role::Exchange(call.node())),
                    None => is_value_argument(tree, parent).then_some(Role::Read),
                };
            }
            Kind::InitDeclarator => return declares_value(tree, parent).then_some(Role::Read),
            Kind::InitializerList => return is_list_of_values(tree, parent).then_some(Role::Read),
            Kind::PointerExpression => {
                return Pointer::of(parent).is_some_and(Pointer::is_dereference).then_some(Role::Read);
            }
            Kind::CastExpression => {
                let is_value = parent.field(Field::Type).is_some_and(|it| is_value(tree, it.byte_range()));
                return is_value.then_some(Role::Read);
            }
            Kind::ReturnStatement => return returns_value(tree, parent).then_some(Role::Read),
            Kind::CallExpression | Kind::CommaExpression => return None,
            Kind::AssignmentExpression if is_declaration(parent) => return None,
            Kind::BinaryExpression
            | Kind::UnaryExpression
            | Kind::AssignmentExpression
            | Kind::SubscriptExpression
            | Kind::SubscriptArgumentList
            | Kind::FieldExpression
            | Kind::ConditionClause
            | Kind::ConditionalExpression => return Some(Role::Read),
            _ => return None,
        }
        node = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The role of the only `a[n]` in a statement.
    fn of(statement: &str) -> &'static str {
        let text = format!(
            "struct S {{ float x; }};\n__device__ float sink(float &r);\n\
                            __global__ void k(float *out, int n, float v) {{ float a[8]; S s[8];\n{statement} }}\n"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        let is_it = |node: &Node<'_>| node.kind() == Kind::SubscriptExpression && tree.slice(*node) == "a[n]";
        let node = tree.root().unwrap().descendants().find(is_it).unwrap();
        match role(&tree, node) {
            None => "unknown",
            Some(Role::Read) => "read",
            Some(Role::Write(_)) => "write",
            Some(Role::Step(_)) => "step",
            Some(Role::Exchange(_)) => "exchange",
            Some(Role::Reference(_)) => "reference",
        }
    }

    #[test]
    fn values_are_read() {
        for statement in [
            "out[0] = a[n];",
            "out[0] = 2 * (a[n] + 1);",
            "float x = a[n];",
            "if (a[n] > 0) out[0] = 1;",
            "out[0] = n ? a[n] : 0;",
            "out[(int)a[n]] = 0;",
            "out[0] = -a[n];",
            "out[0] = (float)a[n];",
            "out[0] = fmaxf(a[n], 0);",
        ] {
            assert_eq!(of(statement), "read", "{statement}");
        }
    }

    #[test]
    fn a_statement_that_is_an_assignment_writes() {
        for statement in ["a[n] = 1;", "a[n] += v;", "a[n]++;", "--a[n];"] {
            assert_eq!(of(statement), "write", "{statement}");
        }
        assert_eq!(of("out[0] = a[n]++;"), "step");
    }

    #[test]
    fn what_may_be_written_unseen_has_no_role() {
        for statement in [
            "out[0] = a[n] = 1;",
            "float *p = &a[n];",
            "float &r = a[n];",
            "out[0] = sink(a[n]);",
            "out[0] = atomicAdd(&a[n], 1);",
            "auto &r = (a[n]);",
            "f((float&)a[n]);",
            "n ? a[n] = 1 : 0;",
        ] {
            assert_eq!(of(statement), "unknown", "{statement}");
        }
    }
}
