//! Upper limits of run-time bounds, as the text before a loop shows them: `min(n, 8)`, `if (n > 8) return;`, an earlier
//! loop that accesses an element in each of its rounds. A loop below such a bound has no round beyond it, whatever its
//! body does.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Binary, Call, Conditional, Field, Kind, Member, Node};
use cuda_syntax::tree::{Declaration, DeclarationKind, access_path, enclosing_function, resolve, role};

use super::body::{condition_of, has_labels, only_child};
use super::extent::certain_extent;
use super::header::step;
use super::linear::Linear;
use crate::rewrite::facts::calls::arguments_at_all_calls;
use crate::rewrite::facts::integers::{is_int, plain_words};
use crate::rewrite::facts::purity::{is_pure, is_pure_call};
use crate::rewrite::facts::steady::is_reachable;
use crate::rewrite::facts::unseen::may_be_reference;
use crate::rewrite::facts::writes::may_be_written;

/// Names may lead to initializers with further names.
const MOST_STEPS: usize = 4;

/// Whether a loop condition is false for every value of the induction variable from `extent` upwards.
pub fn is_below(tree: &SyntaxTree, condition: Node<'_>, counter: &str, extent: i64) -> bool {
    let condition = condition.without_parentheses();
    let Some(comparison) = Binary::of(condition) else { return false };
    let (Some(left), Some(right)) = (comparison.left(), comparison.right()) else { return false };
    match comparison.operator() {
        Some("&&" | "and") => {
            is_below(tree, left, counter, extent)
                || is_below(tree, right, counter, extent) && !writes(tree, left, counter)
        }
        Some("<") if tree.slice(left) == counter => is_at_most(tree, right, condition, counter, extent),
        // `i + 1 < n`, without a sum that wraps around.
        Some("<") if tree.named(left, counter).next().is_some() => {
            let added = Linear::of(tree, left).map(|sum| sum.split(tree, counter));
            let added = added.filter(|(factor, rest)| *factor == 1 && rest.terms().is_empty());
            added.is_some_and(|(_, rest)| is_at_most(tree, right, condition, counter, extent + rest.constant))
        }
        Some("<=") if tree.slice(left) == counter => is_at_most(tree, right, condition, counter, extent - 1),
        Some(">") if tree.slice(right) == counter => is_at_most(tree, left, condition, counter, extent),
        Some(">=") if tree.slice(right) == counter => is_at_most(tree, left, condition, counter, extent - 1),
        _ => false,
    }
}

fn writes(tree: &SyntaxTree, region: Node<'_>, name: &str) -> bool {
    tree.named(region, name).any(|node| role(access_path(node)).1)
}

/// Whether a bound is never more than a value. If the comparison converts it to an unsigned type, a negative bound
/// would be more.
fn is_at_most(tree: &SyntaxTree, bound: Node<'_>, condition: Node<'_>, counter: &str, value: i64) -> bool {
    let is_signed = || {
        let all = tree.declarations(enclosing_function(condition)?);
        let own = resolve(&all, counter, condition.start_byte())?;
        Some(matches!(plain_words(&own.type_text).as_str(), "int" | "int32_t" | "signed" | "signed int"))
    };
    let is_fit = is_signed().unwrap_or(false) || is_unsigned(tree, bound);
    is_fit && most(tree, bound, MOST_STEPS).is_some_and(|most| most <= value)
}

/// The largest value of an integer expression, if the text shows one.
pub fn most(tree: &SyntaxTree, expression: Node<'_>, steps: usize) -> Option<i64> {
    let expression = expression.without_parentheses();
    if let Some(value) = tree.value_of(expression) {
        return Some(value);
    }
    let steps = steps.checked_sub(1)?;
    let part = |node: Option<Node<'_>>| most(tree, node?, steps);
    match expression.kind() {
        Kind::BinaryExpression => {
            let binary = Binary::of(expression)?;
            let constant = |node: Option<Node<'_>>| tree.value_of(node?).filter(|value| *value >= 0);
            match binary.operator()? {
                "&" => constant(binary.right()).or_else(|| constant(binary.left())),
                "%" => constant(binary.right())?.checked_sub(1).filter(|most| *most >= 0),
                // Unsigned differences may wrap around.
                "-" if is_int(tree, expression) => part(binary.left())?.checked_sub(constant(binary.right())?),
                "+" if is_int(tree, expression) => part(binary.left())?.checked_add(part(binary.right())?),
                _ => None,
            }
        }
        Kind::CallExpression => {
            let call = Call::of(expression).filter(|call| is_minimum(tree, *call))?;
            call.arguments().filter_map(|argument| part(Some(argument))).min()
        }
        Kind::ConditionalExpression => {
            let choice = Conditional::of(expression)?;
            let (one, other) = (choice.consequence()?, choice.alternative()?);
            let is_kept = |node: Node<'_>| tree.value_of(node).is_some() || Quantity::of(tree, node).is_some();
            let are_kept = [one, other].into_iter().all(|node| is_kept(node.without_parentheses()));
            match are_kept && is_lesser_first(tree, choice.condition()?, one, other) {
                true => [part(Some(one)), part(Some(other))].into_iter().flatten().min(),
                false => Some(part(Some(one))?.max(part(Some(other))?)),
            }
        }
        Kind::Identifier | Kind::FieldExpression => Quantity::of(tree, expression)?.most(expression, steps),
        _ => None,
    }
}

/// Whether a call is one of CUDA's `min`. A macro of that name may be anything.
fn is_minimum(tree: &SyntaxTree, call: Call<'_>) -> bool {
    let is_named = call.function().is_some_and(|called| matches!(tree.slice(called), "min" | "::min" | "std::min"));
    let is_macro = || tree.compiled().expansion(tree.text(), &call.node().byte_range()).is_some();
    is_named && call.arguments().count() == 2 && is_pure_call(tree, call.node()) && !is_macro()
}

/// Whether `condition ? one : other` is the lesser of the two: `a < b ? a : b`.
fn is_lesser_first(tree: &SyntaxTree, condition: Node<'_>, one: Node<'_>, other: Node<'_>) -> bool {
    let text = |node: Node<'_>| tree.slice(node.without_parentheses());
    let Some(comparison) = Binary::of(condition.without_parentheses()) else { return false };
    let (Some(left), Some(right)) = (comparison.left(), comparison.right()) else { return false };
    let are = |first: Node<'_>, second: Node<'_>| text(left) == text(first) && text(right) == text(second);
    match comparison.operator() {
        Some("<" | "<=") => are(one, other),
        Some(">" | ">=") => are(other, one),
        _ => false,
    }
}

/// Whether an expression is a variable of an unsigned type, or bits of a constant.
fn is_unsigned(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    let expression = expression.without_parentheses();
    if tree.value_of(expression).is_some_and(|value| value >= 0) {
        return true;
    }
    let of_type = || {
        let all = tree.declarations(enclosing_function(expression)?);
        let own = resolve(&all, tree.slice(expression), expression.start_byte())?;
        Some(is_unsigned_type(&own.type_text))
    };
    expression.kind() == Kind::Identifier && of_type().unwrap_or(false)
}

fn is_unsigned_type(text: &str) -> bool {
    let words = plain_words(text);
    words.starts_with("unsigned")
        || matches!(words.trim_start_matches("std::"), "uint" | "size_t" | "uint32_t" | "uint64_t")
}

/// A local variable, or a member of one, that no pointer, reference or lambda reaches.
struct Quantity<'t> {
    tree: &'t SyntaxTree,
    function: Node<'t>,
    own: Declaration,
    /// `n`, `p.taps`
    text: &'t str,
}

impl<'t> Quantity<'t> {
    fn of(tree: &'t SyntaxTree, node: Node<'t>) -> Option<Self> {
        let root = match node.kind() {
            Kind::Identifier => node,
            _ => Member::of(node).filter(|member| member.is_of_object())?.object()?,
        };
        let function = enclosing_function(node).filter(|_| root.kind() == Kind::Identifier)?;
        let own = resolve(&tree.declarations(function), tree.slice(root), root.start_byte())?.clone();
        let is_value = own.kind != DeclarationKind::Alias && own.kind != DeclarationKind::Array;
        let is_own = is_value
            && own.volatility.is_none()
            && !is_reachable(tree, function, &own.name)
            && !may_be_reference(tree, root);
        let has_jumps = || function.descendants().any(|it| it.kind() == Kind::GotoStatement);
        (is_own && !has_jumps()).then(|| Self { tree, function, own, text: tree.slice(node) })
    }

    /// The largest value at a place: what the declaration, and the statements before the place, leave.
    fn most(&self, at: Node<'t>, steps: usize) -> Option<i64> {
        let around = at.ancestors().take_while(|node| *node != self.function);
        let mut found = self.declared(steps).or_else(|| self.given(steps));
        let (mut inner, mut is_entered) = (at, false);
        for node in around {
            // A label of a `switch` is entered past what stands before it.
            is_entered = node.kind() == Kind::CaseStatement || is_entered && node.kind() != Kind::SwitchStatement;
            if !is_entered {
                let is_in_block = node.parent().is_some_and(|parent| parent.kind() == Kind::CompoundStatement);
                // A label may stand in a statement before, and the grammar may end the statements of a label early.
                let before = std::iter::successors(node.prev_named_sibling(), |it| it.prev_named_sibling());
                is_entered |= is_in_block && before.clone().any(has_labels);
                let before = before.take_while(|it| !has_labels(*it));
                let facts = before.filter(|_| is_in_block).filter_map(|statement| self.after(statement, steps));
                let branch = Some(node).filter(|it| it.kind() == Kind::IfStatement);
                // A loop around goes as far, whatever it does in this round.
                let is_body = node.kind() == Kind::ForStatement && node.field(Field::Body) == Some(inner);
                let walked =
                    is_body.then(|| self.walked(node).filter(|_| self.stays_from(node.start_byte()))).flatten();
                found = facts.chain(branch.and_then(|it| self.within(it, inner))).chain(walked).chain(found).min();
            }
            inner = node;
        }
        found
    }

    /// Whether nothing writes the variable in the text behind an offset. A loop around that comes back passes the
    /// offset again.
    fn stays_from(&self, offset: usize) -> bool {
        let all = self.tree.declarations(self.function);
        let names = self.tree.names_of(self.function, &all, &self.own);
        names.into_iter().filter(|name| name.start_byte() >= offset).all(|name| !may_be_written(self.tree, name))
    }

    fn is_it(&self, node: Node<'_>) -> bool {
        let node = node.without_parentheses();
        let all = || self.tree.declarations(self.function);
        self.tree.slice(node) == self.text
            && resolve(&all(), &self.own.name, node.start_byte()).is_some_and(|found| found.range == self.own.range)
    }

    fn declared(&self, steps: usize) -> Option<i64> {
        let (start, end) = self.own.initializer.filter(|_| self.own.kind == DeclarationKind::Scalar)?;
        let value = self.tree.root()?.named_descendant_for_byte_range(start, end)?;
        let is_kept = self.stays_from(end) && self.text == self.own.name;
        (is_kept && self.holds(value)).then(|| most(self.tree, value, steps))?
    }

    /// The largest value that a parameter has at any call, if nothing writes it.
    fn given(&self, steps: usize) -> Option<i64> {
        let body = self.function.field(Field::Body)?;
        let is_kept = self.own.is_parameter && self.text == self.own.name && self.stays_from(body.start_byte());
        let arguments = is_kept.then(|| arguments_at_all_calls(self.tree, self.function, &self.own))??;
        let most = |argument: &Node<'t>| self.holds(*argument).then(|| most(self.tree, *argument, steps))?;
        let all: Vec<i64> = arguments.iter().map(most).collect::<Option<_>>()?;
        all.into_iter().max()
    }

    /// Whether the variable's type has the value of an expression: an unsigned variable makes a negative one large.
    fn holds(&self, value: Node<'_>) -> bool {
        let is_masked = Binary::of(value.without_parentheses()).is_some_and(|it| it.operator() == Some("&"));
        match plain_words(&self.own.type_text).as_str() {
            "int" | "int32_t" | "auto" | "long" | "long long" => true,
            text if is_unsigned_type(text) => is_masked || self.tree.value_of(value).is_some_and(|value| value >= 0),
            _ => false,
        }
    }

    /// The largest value behind a statement: a return for larger ones, a clamp, a loop up to it over an array.
    fn after(&self, statement: Node<'t>, steps: usize) -> Option<i64> {
        match statement.kind() {
            Kind::IfStatement if statement.field(Field::Alternative).is_none() => {
                let condition = condition_of(statement).filter(|it| is_pure(self.tree, *it))?;
                let then = statement.field(Field::Consequence)?;
                let clamped = || self.assigned(then, steps);
                let most = match leaves(then) {
                    true => self.unless(condition),
                    false => clamped().zip(self.unless(condition)).map(|(one, other)| one.max(other)),
                };
                most.filter(|_| self.stays_from(statement.end_byte()))
            }
            Kind::ExpressionStatement => {
                self.assigned(statement, steps).filter(|_| self.stays_from(statement.end_byte()))
            }
            Kind::ForStatement => self.walked(statement).filter(|_| self.stays_from(statement.start_byte())),
            _ => None,
        }
    }

    /// `n = min(n, 8);`
    fn assigned(&self, statement: Node<'t>, steps: usize) -> Option<i64> {
        let is_block = statement.kind() == Kind::CompoundStatement;
        let statement = if is_block { only_child(statement)? } else { statement };
        let whole = statement.named_child(0).filter(|_| statement.kind() == Kind::ExpressionStatement)?;
        let assignment = Assignment::of(whole).filter(|it| it.is_plain())?;
        let value = assignment.right().filter(|_| assignment.left().is_some_and(|left| self.is_it(left)))?;
        // The value has the variable's earlier value in it at most as one that a minimum chooses from.
        self.holds(value).then(|| bounded(self.tree, value, steps))?
    }

    /// The largest value for which a condition is false: 8 for `n <= 0 || n > 8`.
    fn unless(&self, condition: Node<'_>) -> Option<i64> {
        let condition = condition.without_parentheses();
        let comparison = Binary::of(condition)?;
        let (left, right) = (comparison.left()?, comparison.right()?);
        let constant = |node: Node<'_>| self.tree.value_of(node).filter(|value| *value >= 0);
        match comparison.operator()? {
            "||" | "or" => [self.unless(left), self.unless(right)].into_iter().flatten().min(),
            ">" if self.is_it(left) => constant(right),
            ">=" if self.is_it(left) => constant(right)?.checked_sub(1),
            "<" if self.is_it(right) => constant(left),
            "<=" if self.is_it(right) => constant(left)?.checked_sub(1),
            _ => None,
        }
    }

    /// The largest value in the branch of an `if` that a place is in.
    fn within(&self, branch: Node<'t>, place: Node<'_>) -> Option<i64> {
        let condition = condition_of(branch).filter(|it| is_pure(self.tree, *it))?;
        let is_then = branch.field(Field::Consequence) == Some(place);
        let most = match is_then {
            true => self.provided(condition),
            false => self.unless(condition).filter(|_| branch.field(Field::Alternative) == Some(place)),
        };
        most.filter(|_| self.stays_from(branch.start_byte()))
    }

    /// The largest value for which a condition is true: 8 for `n > 0 && n <= 8`.
    fn provided(&self, condition: Node<'_>) -> Option<i64> {
        let condition = condition.without_parentheses();
        let comparison = Binary::of(condition)?;
        let (left, right) = (comparison.left()?, comparison.right()?);
        let constant = |node: Node<'_>| self.tree.value_of(node).filter(|value| *value >= 0);
        match comparison.operator()? {
            "&&" | "and" => [self.provided(left), self.provided(right)].into_iter().flatten().min(),
            "<=" if self.is_it(left) => constant(right),
            "<" if self.is_it(left) => constant(right)?.checked_sub(1),
            ">=" if self.is_it(right) => constant(left),
            ">" if self.is_it(right) => constant(left)?.checked_sub(1),
            _ => None,
        }
    }

    /// The extent of an array of which a loop `for (int i = 0; i < n; ++i)` accesses element `i` in each round: a
    /// larger `n` would have had an access beyond it.
    fn walked(&self, node: Node<'t>) -> Option<i64> {
        let (tree, initializer) = (self.tree, node.field(Field::Initializer)?);
        let declared = initializer.field(Field::Declarator).filter(|_| initializer.kind() == Kind::Declaration)?;
        let counter = tree.slice(declared.field(Field::Declarator)?);
        let start = tree.value_of(declared.field(Field::Value)?).filter(|start| *start >= 0)?;
        let condition = node.field(Field::Condition)?;
        let comparison = Binary::of(condition.without_parentheses()).filter(|it| it.operator() == Some("<"))?;
        let is_up = step(tree, node.field(Field::Update)?) == Some(1)
            && tree.slice(comparison.left()?) == counter
            && self.is_it(comparison.right()?);
        let extent = certain_extent(tree, node, counter).filter(|_| is_up)?;
        // Where no round runs, the bound is not more than the start.
        (extent >= start).then_some(extent)
    }
}

/// The largest value of a minimum, of bits of a constant, or of a constant. What else the expression names may change
/// with the assignment.
fn bounded(tree: &SyntaxTree, value: Node<'_>, steps: usize) -> Option<i64> {
    let value = value.without_parentheses();
    let is_plain =
        matches!(value.kind(), Kind::CallExpression | Kind::BinaryExpression | Kind::NumberLiteral | Kind::Identifier);
    let constants = || match Call::of(value) {
        Some(call) => {
            let known = call.arguments().filter_map(|argument| tree.value_of(argument)).min();
            known.filter(|_| is_minimum(tree, call))
        }
        None => tree.value_of(value),
    };
    let is_masked = Binary::of(value).is_some_and(|it| matches!(it.operator(), Some("&" | "%")));
    match is_masked {
        true => most(tree, value, steps),
        false => constants().filter(|_| is_plain),
    }
}

/// Whether a statement ends with a jump out of the block around it.
fn leaves(statement: Node<'_>) -> bool {
    match statement.kind() {
        Kind::ReturnStatement | Kind::ContinueStatement | Kind::BreakStatement => true,
        Kind::CompoundStatement => statement.parts().last().is_some_and(leaves),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest value that `n` has at the mark.
    fn most_at(before: &str, body: &str) -> Option<i64> {
        let text = format!("{before}__global__ void k(float* in, int n, int m) {{ float a[36], b[6]; {body} }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let at = text.find("n /* HERE */").expect("the text has a mark");
        most(&tree, tree.root()?.named_descendant_for_byte_range(at, at + 1)?, MOST_STEPS)
    }

    #[test]
    fn a_loop_around_goes_as_far_as_its_array() {
        let body = "for (int i = 0; i < n; ++i) for (int j = 0; j < n /* HERE */; ++j) a[i * 6 + j] = in[j];";
        assert_eq!(most_at("", body), Some(6));
        let body =
            "for (int i = 0; i < n; ++i) { b[i] = 0; for (int j = 0; j < n /* HERE */; ++j) a[i * 6 + j] = in[j]; }";
        assert_eq!(most_at("", body), Some(6));
        let body = "for (int i = 0; i < n; ++i) { for (int j = 0; j < n /* HERE */; ++j) in[j] = 1; b[i] = 0; } m = n;";
        assert_eq!(most_at("", body), Some(6));
        for body in [
            // It may end early, skip an element, or change the bound.
            "for (int i = 0; i < n; ++i) { for (int j = 0; j < n /* HERE */; ++j) in[j] = 1; if (m) break; b[i] = 0; }",
            "for (int i = 0; i < n; ++i) { for (int j = 0; j < n /* HERE */; ++j) in[j] = 1; if (m) b[i] = 0; }",
            "for (int i = 0; i < n; ++i) { for (int j = 0; j < n /* HERE */; ++j) in[j] = 1; b[i] = 0; ++n; }",
            "for (int i = 0; i < n; ++i) { for (int j = 0; j < n /* HERE */; ++j) in[j] = 1; b[i] = 0; change(n); }",
            "for (int i = 0; i < m; ++i) { for (int j = 0; j < n /* HERE */; ++j) in[j] = 1; b[i] = 0; }",
        ] {
            assert_eq!(most_at("", body), None, "{body}");
        }
    }

    #[test]
    fn what_each_branch_of_a_loop_before_accesses_counts() {
        let then = "for (int j = 0; j < n /* HERE */; ++j) in[j] = 1;";
        for (before, expected) in [
            ("for (int i = 0; i < n; ++i) { if (m) b[i] = 0; else b[i] = 1; }", Some(6)),
            ("for (int i = 0; i < n; ++i) { if (m) b[i] = 0; else if (m > 2) b[i] = 2; else b[i] = 1; }", Some(6)),
            ("for (int i = 0; i < n; ++i) { if (m) b[i] = 0; else a[i] = 1; }", Some(36)),
            ("for (int i = 0; i < n; ++i) { if (m) b[i] = 0; }", None),
            ("for (int i = 0; i < n; ++i) { if (m) b[i] = 0; else in[i] = 0; }", None),
            ("for (int i = 0; i < n; ++i) { if (m) b[i] = 0; else break; }", None),
        ] {
            assert_eq!(most_at("", &format!("{before} {then}")), expected, "{before}");
        }
    }

    #[test]
    fn members_of_parameters_are_bounds() {
        let text = "struct P { int n; };\n__global__ void k(float* in, const P p) {\n float b[6];\n\
            for (int i = 0; i < p.n; ++i) { b[i] = 0; }\n\
            for (int j = 0; j < p.n /* HERE */; ++j) in[j] = 1;\n}\n";
        let tree = SyntaxTree::example("a.cu", text);
        let at = text.find("p.n /* HERE */").unwrap();
        let node = tree.root().unwrap().named_descendant_for_byte_range(at, at + 3).unwrap();
        assert_eq!(most(&tree, node, MOST_STEPS), Some(6));
    }

    #[test]
    fn a_label_is_jumped_to() {
        let loops = "for (int i = 0; i < n; ++i) b[i] = 0;";
        let then = "for (int j = 0; j < n /* HERE */; ++j) in[j] = 1;";
        assert_eq!(most_at("", &format!("{loops} switch (m) {{ case 0: {then} }}")), Some(6));
        for body in [
            format!("switch (m) {{ case 0: {loops} case 1: {then} }}"),
            format!("switch (m) {{ case 0: {loops}\n#pragma unroll 1\n{loops} default:\n#pragma unroll 1\n{then} }}"),
            format!("switch (m) {{ case 0: {loops} if (m) {{ case 1: in[0] = 9; }} {then} }}"),
        ] {
            assert_eq!(most_at("", &body), None, "{body}");
        }
    }

    #[test]
    fn a_parameter_is_what_it_is_at_all_calls() {
        let most = |calls: &str, body: &str| {
            let text = format!(
                "__device__ void f(float* in, int n) {{ {body} }}\n__global__ void k(float* in, int m) {{ float a[6]; {calls} }}\n"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            let at = text.find("n /* HERE */").expect("the text has a mark");
            super::most(&tree, tree.root()?.named_descendant_for_byte_range(at, at + 1)?, MOST_STEPS)
        };
        let body = "for (int i = 0; i < n /* HERE */; ++i) in[i] = 0;";
        let walk = "for (int i = 0; i < m; ++i) a[i] = in[i]; ";
        assert_eq!(most(&format!("{walk} f(in, m); f(in, 4);"), body), Some(6));
        assert_eq!(most("f(in, min(m, 8));", body), Some(8));
        assert_eq!(most(&format!("{walk} f(in, m); f(in, in[0]);"), body), None);
        assert_eq!(most(&format!("{walk} f(in, m); auto g = f;"), body), None);
        assert_eq!(most(&format!("{walk} f(in, m);"), "++n; for (int i = 0; i < n /* HERE */; ++i) in[i] = 0;"), None);
    }
}
