//! Side effects of a statement, and whether an index may be evaluated before it.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{DeclarationKind, Volatility, access_path, resolve, role};

use super::Writer;
use crate::rewrite::facts::purity::{is_arithmetic, is_builtin, is_pure, is_pure_call, takes_values};
use crate::rewrite::select::holder::IndexedUse;

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
            // What a member's index names might be another member, or refer to an element.
            let is_kept = !self.holder.is_member || !is_arithmetic || names.iter().all(|name| self.is_own(*name));
            is_pure(tree, index) && is_undisturbed && is_steady && is_kept && (is_arithmetic || !found.is_conditional)
        }) && !effects.written.contains(&self.holder.declaration.name)
    }

    /// Whether the only index in a statement increments or decrements a local variable that the statement does not use
    /// again: `stack[--top]`. Then it may be evaluated first.
    pub(super) fn is_taken_once(&self, found: &IndexedUse<'_>) -> bool {
        let [dimension] = found.dimensions.as_slice() else { return false };
        let counted = dimension.index.field(Field::Argument);
        let Some(name) = counted.filter(|name| name.kind() == Kind::Identifier) else { return false };
        let text = self.tree.slice(name);
        let below = self.tree.identifiers_below(found.statement);
        let mentions = below.into_iter().filter(|node| self.tree.slice(*node) == text).count();
        dimension.index.kind() == Kind::UpdateExpression && !found.is_conditional && self.is_own(name) && mentions == 1
    }

    /// Whether only this function can change a variable.
    pub(super) fn is_own(&self, name: Node<'_>) -> bool {
        let declarations = self.tree.declarations(self.function);
        match resolve(&declarations, self.tree.slice(name), name.start_byte()) {
            Some(found) => found.kind != DeclarationKind::Alias && !matches!(found.volatility, Some(Volatility::Value)),
            None => self.tree.is_fixed(self.tree.slice(name), name.start_byte()) || is_builtin(self.tree.slice(name)),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
