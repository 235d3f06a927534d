//! Side effects of a statement, and whether an index may be evaluated before it.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{access_path, last_name, role};

use super::Writer;
use crate::rewrite::facts::number::{is_number_type, is_value_type};
use crate::rewrite::facts::purity::{is_arithmetic, is_name_path, is_pure, is_pure_call, takes_values};
use crate::rewrite::facts::steady::{is_own, is_reachable};
use crate::rewrite::select::holder::IndexedUse;
use crate::rewrite::select::role::Role;

/// Side effects of a statement, except the assignment to its element.
#[derive(Default)]
pub(super) struct Effects {
    /// Variables that are written, or passed to functions that may write them.
    written: Vec<String>,
    /// Whether a function with unknown side effects is called, or a callee may write memory.
    has_unknown: bool,
}

impl Effects {
    /// Collects the side effects; `assignment` is the last effect of the statement and does not count.
    pub(super) fn of(tree: &SyntaxTree, statement: Node<'_>, assignment: Option<Node<'_>>) -> Self {
        let mut effects = Self::default();
        let condition = statement.field(Field::Condition);
        let top =
            assignment.or_else(|| statement.named_child(0).filter(|node| node.kind() == Kind::AssignmentExpression));
        // The body of a lambda runs only when it is called.
        let evaluated = |node: Node<'_>, _: Node<'_>| node.kind() != Kind::LambdaExpression;
        for node in condition.unwrap_or(statement).descendants_through(evaluated) {
            let is_top = top == Some(node);
            match node.kind() {
                Kind::AssignmentExpression | Kind::UpdateExpression if !is_top => effects.has_unknown = true,
                Kind::CallExpression if !is_pure_call(tree, node) => effects.has_unknown = true,
                _ if node.is_assembly() => effects.has_unknown = true,
                Kind::Identifier => effects.identifier(tree, node, top),
                _ => {}
            }
        }
        effects
    }

    fn identifier(&mut self, tree: &SyntaxTree, name: Node<'_>, top: Option<Node<'_>>) {
        let whole = access_path(name);
        let parent = whole.parent();
        let is_target = parent.is_some_and(|parent| top.is_some_and(|top| top == parent));
        let call = parent.filter(|parent| parent.kind() == Kind::ArgumentList).and_then(|list| list.parent());
        let called = call.and_then(|call| call.field(Field::Function));
        let is_value = called.is_some_and(|called| takes_values(tree, called));
        let is_declared = parent.is_some_and(|parent| parent.field(Field::Declarator) == Some(whole));
        let is_list = parent.is_some_and(|parent| parent.kind() == Kind::InitializerList);
        let is_pointed = parent
            .is_some_and(|parent| parent.kind() == Kind::PointerExpression && tree.slice(parent).starts_with('*'));
        let is_written = role(whole).1 && !is_value && !is_list && !is_pointed && (!is_target || is_declared);
        let text = tree.slice(name).to_string();
        if (is_written || is_declared) && !self.written.contains(&text) {
            self.written.push(text);
        }
    }
}

impl Writer<'_> {
    /// Whether the index of a use has the same value before its statement, and may be evaluated there.
    pub(super) fn is_movable(&self, found: &IndexedUse<'_>, effects: &Effects) -> bool {
        let tree = self.tree;
        found.dimensions.iter().all(|dimension| {
            let index = dimension.index;
            let is_arithmetic = is_arithmetic(tree, index);
            let names = tree.identifiers(index);
            let is_undisturbed = names.iter().all(|name| !effects.written.contains(&tree.slice(*name).to_string()));
            let is_steady = !effects.has_unknown || (is_arithmetic && names.iter().all(|name| self.is_own(*name)));
            is_pure(tree, index) && is_undisturbed && is_steady && (is_arithmetic || !found.is_conditional)
        }) && !effects.written.contains(&self.holder.declaration.name)
    }

    /// Whether the only index in a statement counts something up or down that the statement does not use otherwise: `stack[--top]`.
    /// Then it may be evaluated first, but for the value that is written.
    pub(super) fn is_taken_once(&self, found: &IndexedUse<'_>) -> bool {
        let Some(counted) = counted(found).filter(|_| !found.is_conditional) else { return false };
        let last = last_name(self.tree.slice(counted));
        let below = self.tree.identifiers_below(found.statement);
        let members = found.statement.descendants().filter(|node| node.kind() == Kind::FieldIdentifier);
        let is_alone = below.into_iter().chain(members).filter(|node| self.tree.slice(*node) == last).count() == 1;
        is_alone && (self.is_named_alone(counted) || is_name_path(counted) && self.is_all_there_is(found))
    }

    /// Whether a use counts what others may name too: a member, or what a reference is bound to.
    pub(super) fn counts_for_others(&self, found: &IndexedUse<'_>) -> bool {
        counted(found).is_some_and(|counted| !self.is_named_alone(counted))
    }

    /// Whether a variable of the function has no other name.
    fn is_named_alone(&self, counted: Node<'_>) -> bool {
        let is_reached = || is_reachable(self.tree, self.function, self.tree.slice(counted));
        counted.kind() == Kind::Identifier && self.is_own(counted) && !is_reached()
    }

    /// Whether a statement evaluates nothing but an element and the value that is written to it, so that it does not matter what else
    /// names what its index counts.
    fn is_all_there_is(&self, found: &IndexedUse<'_>) -> bool {
        if let Role::Write(node) = found.role {
            let is_statement = node.parent() == Some(found.statement);
            let is_read_first = || found.type_text.as_deref().is_some_and(|text| self.is_read_first(text));
            let is_fit = |right| is_pure(self.tree, right) && is_read_first();
            return is_statement && node.field(Field::Right).is_none_or(is_fit);
        }
        let mut node = found.node;
        loop {
            let Some(parent) = node.parent() else { return false };
            match parent.kind() {
                Kind::ParenthesizedExpression | Kind::CastExpression | Kind::UnaryExpression => node = parent,
                Kind::BinaryExpression if is_beside_a_number(parent, node) => node = parent,
                Kind::ReturnStatement => return true,
                Kind::InitDeclarator => {
                    return parent.parent().is_some_and(|it| it.fields(Field::Declarator).count() == 1);
                }
                Kind::AssignmentExpression => {
                    let left = parent.field(Field::Left).filter(|left| left.kind() == Kind::Identifier);
                    return left.is_some_and(|left| self.is_own(left)) && parent.parent() == Some(found.statement);
                }
                _ => return false,
            }
        }
    }

    /// Whether an index may be evaluated for each element: what is not a variable of the function's own might be another member, or a name
    /// for an element that is written.
    pub(super) fn may_stand_in_loops(&self, index: Node<'_>) -> bool {
        is_arithmetic(self.tree, index) && self.tree.identifiers(index).iter().all(|name| self.is_own(*name))
    }

    /// Whether a value of a type is read before an index is counted: the assignment of a class reads it later, and then what is counted
    /// may be a part of it. That is a number, or has no integers.
    fn is_read_first(&self, type_text: &str) -> bool {
        let has_no_integers = |text: &str| {
            let is_vector =
                ["float", "double"].iter().any(|it| text.strip_prefix(it).is_some_and(|rest| rest.len() == 1));
            is_vector && is_value_type(self.tree, text)
        };
        let is_fit = |text: &str| is_number_type(self.tree, text) || has_no_integers(text);
        is_fit(type_text) || self.holder.given(type_text).is_some_and(|given| given.into_iter().all(is_fit))
    }

    /// Whether only this function can change a variable.
    pub(super) fn is_own(&self, name: Node<'_>) -> bool {
        is_own(self.tree, &self.tree.declarations(self.function), name)
    }
}

/// Whether the other operand of an expression is a number: it does not matter when that is evaluated.
fn is_beside_a_number(whole: Node<'_>, operand: Node<'_>) -> bool {
    let operands = [Field::Left, Field::Right].map(|side| whole.field(side));
    operands.into_iter().flatten().all(|it| it == operand || it.kind() == Kind::NumberLiteral)
}

/// What the only index of a use counts: `top` of `stack[--top]`.
fn counted<'t>(found: &IndexedUse<'t>) -> Option<Node<'t>> {
    let [dimension] = found.dimensions.as_slice() else { return None };
    let is_update = dimension.index.kind() == Kind::UpdateExpression;
    is_update.then(|| dimension.index.field(Field::Argument)).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::super::tests::edited;
    use super::*;

    /// The variables that the first statement of a kernel writes, and whether it has unknown side effects.
    fn effects(statement: &str) -> (Vec<String>, bool) {
        let text = format!(
            "__device__ int next(int i);\n__global__ void k(float *out, int n, int m, float *q) {{ float a[8];\n{statement} }}\n"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        let starts =
            |node: &Node<'_>| node.start_byte() == text.find(statement).unwrap() && tree.slice(*node) == statement;
        let node = tree.root().unwrap().descendants().filter(starts).last().unwrap();
        let assignment = node.named_child(0).filter(|child| child.kind() == Kind::AssignmentExpression);
        let effects = Effects::of(&tree, node, assignment);
        (effects.written, effects.has_unknown)
    }

    #[test]
    fn what_an_element_may_change_is_counted_once() {
        let before = |body: &str| {
            let text = super::super::tests::edited("c", super::super::Form::Branch, body);
            text.map(|text| text.contains("_index = "))
        };
        for own in [
            "    c[n]++;",
            "    const int i = n;\n    c[i] += 2;",
            "    c[threadIdx.x + 2]++;",
            "    c[state.x > 0]++;",
        ] {
            assert_eq!(before(own), Some(false), "{own}");
        }
        for other in [
            "    int& i = c[2];\n    c[i]++;",
            "    const int& i = c[2];\n    c[i]++;",
            "    int&& i = static_cast<int&&>(c[2]);\n    c[i]++;",
            "    using R = int&;\n    R i = c[2];\n    c[i]++;",
            "    auto& [i, j, k] = v[0];\n    c[(int)i]++;",
            "    decltype(auto) i = (c[2]);\n    c[i]++;",
            "    State& s = state;\n    c[s.key[0]]++;",
            "    auto step = [&](const int& i) { c[i]++; };",
        ] {
            assert_ne!(before(other), Some(false), "{other}");
        }
        for read_each_time in [
            "    volatile int i = n;\n    c[i]++;",
            "    volatile int& i = *(volatile int*)p;\n    out[0] = c[i];",
            "    typedef volatile int Cell;\n    Cell& i = *(Cell*)p;\n    c[i]++;",
        ] {
            assert_eq!(before(read_each_time), None, "{read_each_time}");
        }
    }

    #[test]
    fn the_target_itself_is_no_effect() {
        assert_eq!(effects("a[n] = m;"), (vec![], false));
        assert_eq!(effects("out[0] = a[n] + fmaxf(m, 1);"), (vec![], false));
    }

    #[test]
    fn what_else_is_written_is_named() {
        assert_eq!(effects("int x = a[n];").0, ["x"]);
        assert_eq!(effects("a[n] = m++;"), (vec!["m".into()], true));
        assert_eq!(effects("a[n] = (m = 3);"), (vec!["m".into()], true));
    }

    #[test]
    fn calls_and_assembly_may_do_anything() {
        assert!(effects("a[n] = next(m);").1);
        assert!(effects("asm volatile(\"mov.u32 %0, 1;\" : \"=r\"(n));").1);
        // The body of a lambda runs only when it is called.
        assert!(!effects("auto f = [&] { return next(m); };").1);
    }

    #[test]
    fn of_a_condition_only_the_condition_counts() {
        assert_eq!(effects("if (a[n] > 0) m = next(n);"), (vec![], false));
        assert!(effects("if (next(a[n])) m = 1;").1);
    }

    #[test]
    fn what_others_name_too_is_counted_at_its_turn() {
        let lines = |body: &str| edited("c", Form::Branch, &format!("    int& r = n;\n{body}"));
        let writes = lines("    c[n++] = r;").unwrap();
        assert!(writes.contains("const int c_value = r;\n    const auto c_index = n++;"), "{writes}");
        assert!(lines("    c[r++] = n;").unwrap().contains("const int c_value = n;\n    const auto c_index = r++;"));
        for body in ["    int m = c[--r];", "    int m = 2 * (c[--r] + 3);", "    int m = -(int)c[--r] - 1;"] {
            assert!(lines(body).is_some(), "{body}");
        }
        for body in [
            "    int x = r, y = c[--n];",
            "    int2 v = {r, c[--n]};",
            "    out[r] = c[--n];",
            "    m = r << c[--n];",
            "    int m = r + c[--n];",
            "    int m = (c[--n] + 1) * r;",
            "    int m = c[--r] ? 1 : 2;",
            "    int m = 1 && c[--r];",
            "    int& m = (int&)c[--r];",
            "    auto& m = (int&)(c[--r]);",
            "    auto&& m = +(const int&)c[--r];",
            "    c[n++] = next(r);",
            "    if (c[--r]) n = 1;",
        ] {
            assert_eq!(lines(body), None, "{body}");
        }
    }
}
