//! `e[i].x = x; e[i].n++;`: statements in a row that write elements of one index. They are done together for the element that has it,
//! so that one loop over all elements is enough.

use std::ops::Range;

use cuda_syntax::ast::{Assignment, Field, Kind, Node, Subscript};
use lmem_base::diagnostic::Edit;

use super::path::{Path, Step};
use super::role::Role;
use super::together::{MOST_STATEMENTS, are_whole_lines, last_needed, statements, variables};
use super::{Form, Lines, Writer};
use crate::rewrite::facts::purity::{is_arithmetic, is_builtin, is_pure};
use crate::rewrite::facts::steady::is_steady;
use crate::rewrite::select::holder::IndexedUse;

/// Statements of a block in a row, all of which use the element of one index, in a loop.
pub(super) struct Run {
    /// The number of statements that use the element; another may follow that needs what these declare.
    pub statements: usize,
    /// How many copies of them there are.
    pub selects: u64,
    pub edits: Vec<Edit>,
}

impl<'h> Writer<'h> {
    /// The run that begins with the first statement; `None` if that is no run, or if one of its statements does anything else than to
    /// write the array and to declare values for that.
    pub(super) fn run(&mut self, groups: &[Vec<IndexedUse<'h>>]) -> Option<Run> {
        let found = groups.first()?.first().filter(|_| self.form == Form::Branch)?;
        let first = found.statement;
        let block = first.parent().filter(|it| it.kind() == Kind::CompoundStatement)?;
        let is_same = |other: &IndexedUse<'h>| {
            matches!(other.role, Role::Read | Role::Write(_))
                && other.statement.parent() == Some(block)
                && other.dimensions.len() == found.dimensions.len()
                && other.dimensions.iter().zip(&found.dimensions).all(|(one, own)| {
                    self.is_same_text(one.index, own.index) && one.extent == own.extent && one.count == own.count
                })
        };
        let most = groups.iter().take_while(|group| group.iter().all(is_same)).count().min(MOST_STATEMENTS);
        (1..=most).rev().find_map(|count| {
            let uses = groups[..count].concat();
            let until = uses.last()?.statement;
            // Statements beside them may use the element, too: the compiler stores two members at once.
            let wider = (self.before(first, found), self.behind(until, found));
            let narrow = (count > 1).then_some((first, until));
            let mut ranges = Some(wider).filter(|_| wider.0 != wider.1).into_iter().chain(narrow);
            ranges.find_map(|(first, until)| {
                let last = self.ends(first, until)?;
                // What follows has uses of its own.
                let is_apart = groups[count..].iter().flatten().all(|it| it.statement.start_byte() >= last.end_byte());
                let is_fit = is_apart
                    && self.is_steady_in(found, first, last)
                    && statements(first, last).all(|statement| self.is_part(statement, first, last))
                    && uses.iter().any(|it| matches!(it.role, Role::Write(_)))
                    && are_whole_lines(self.tree, &(first.start_byte()..last.end_byte()));
                let edits = is_fit.then(|| self.in_one_loop(found, &uses, (first, last)))??;
                let each = found.dimensions.iter().map(|dimension| dimension.count.unwrap_or(1));
                let selects = each.fold(count as u64, u64::saturating_mul);
                self.edited_until = last.end_byte();
                Some(Run { statements: count, selects, edits })
            })
        })
    }

    /// The first of the statements right before one that use the element, too, and of which none was edited.
    fn before(&self, statement: Node<'h>, found: &IndexedUse<'h>) -> Node<'h> {
        let is_free = |it: &Node<'h>| it.start_byte() >= self.edited_until && self.uses_element(*it, found);
        let before = |node: &Node<'h>| neighbour(*node, Node::prev_sibling).filter(is_free);
        std::iter::successors(Some(statement), before).last().unwrap_or(statement)
    }

    /// The last of those right behind one.
    fn behind(&self, statement: Node<'h>, found: &IndexedUse<'h>) -> Node<'h> {
        let next = |node: &Node<'h>| neighbour(*node, Node::next_sibling).filter(|it| self.uses_element(*it, found));
        std::iter::successors(Some(statement), next).last().unwrap_or(statement)
    }

    /// Whether a statement is an assignment, or a declaration, in which the element of an index is named.
    fn uses_element(&self, statement: Node<'h>, found: &IndexedUse<'h>) -> bool {
        let is_index = |it: Node<'h>| found.dimensions.iter().any(|own| self.is_same_text(own.index, it));
        let mut subscripts = statement.descendants().filter(|it| self.is_of_array_path(*it)).filter_map(Subscript::of);
        matches!(statement.kind(), Kind::ExpressionStatement | Kind::Declaration)
            && subscripts.any(|it| it.index().is_some_and(is_index))
    }

    /// The last statement that needs what is declared from one statement to another.
    fn ends(&self, first: Node<'h>, until: Node<'h>) -> Option<Node<'h>> {
        let mut declared = Vec::new();
        let mut count = 0;
        for statement in statements(first, until) {
            declared.extend(variables(self.tree, statement)?);
            count += 1;
        }
        last_needed(self.tree, first, declared, count)
    }

    /// Whether the indices are the same in all statements, wherever they are evaluated.
    pub(super) fn is_steady_in(&self, found: &IndexedUse<'h>, first: Node<'h>, last: Node<'h>) -> bool {
        let tree = self.tree;
        let is_fit = |name: &Node<'h>| {
            let text = tree.slice(*name);
            let is_known = tree.is_fixed(text, name.start_byte()) || is_builtin(text);
            let declares = |statement: Node<'h>| {
                variables(tree, statement).is_none_or(|names| names.iter().any(|it| tree.slice(*it) == text))
            };
            let is_written = || !statements(first, last).all(|statement| is_steady(tree, *name, statement));
            !statements(first, last).any(declares) && (is_known || !is_written())
        };
        found.dimensions.iter().all(|dimension| {
            let index = dimension.index;
            is_arithmetic(tree, index) && is_pure(tree, index) && tree.identifiers(index).iter().all(is_fit)
        })
    }

    /// Whether a statement writes the array, or declares values, and does nothing else. What it computes is repeated for each element:
    /// it reads the array, variables, and what can be read before the loop.
    fn is_part(&self, statement: Node<'h>, first: Node<'h>, last: Node<'h>) -> bool {
        let tree = self.tree;
        let is_cheap =
            |value: Node<'h>| is_pure(tree, value) && (self.is_simple(value) || self.may_read_before(first, last));
        match statement.kind() {
            Kind::Declaration => statement.fields(Field::Declarator).all(|declarator| match declarator.kind() {
                Kind::Identifier => true,
                Kind::InitDeclarator => declarator.field(Field::Value).is_some_and(is_cheap),
                _ => false,
            }),
            Kind::ExpressionStatement => statement.named_child(0).is_some_and(|node| match node.kind() {
                Kind::AssignmentExpression => {
                    let right = Assignment::of(node).and_then(Assignment::right);
                    node.field(Field::Left).is_some_and(|left| self.is_of_array(left)) && right.is_some_and(is_cheap)
                }
                Kind::UpdateExpression => node.field(Field::Argument).is_some_and(|it| self.is_of_array(it)),
                _ => false,
            }),
            _ => false,
        }
    }

    /// Whether an expression is an element of the array, or a member of one.
    fn is_of_array(&self, target: Node<'h>) -> bool {
        let root = std::iter::successors(Some(target), |node| match node.kind() {
            Kind::SubscriptExpression => node.field(Field::Argument),
            Kind::FieldExpression if node.field(Field::Operator).is_some_and(|it| it.is_token(".")) => {
                node.field(Field::Argument)
            }
            _ => None,
        });
        let is_array =
            |node: Node<'h>| node.kind() == Kind::Identifier && self.tree.slice(node) == self.holder.declaration.name;
        root.last().is_some_and(is_array) && is_pure(self.tree, target) && self.is_simple(target)
    }

    /// Whether an expression reads nothing but the array and variables.
    fn is_simple(&self, node: Node<'h>) -> bool {
        let of_others = |it: Node<'h>| match it.kind() {
            Kind::SubscriptExpression | Kind::FieldExpression => {
                let inner = it.field(Field::Argument);
                let is_vector =
                    || it.kind() == Kind::FieldExpression && inner.is_some_and(|it| it.kind() == Kind::Identifier);
                !self.is_of_array_path(it) && !is_vector()
            }
            Kind::CallExpression | Kind::PointerExpression => true,
            _ => false,
        };
        !node.descendants().any(of_others)
    }

    fn is_of_array_path(&self, node: Node<'h>) -> bool {
        let mut root = node;
        while let Some(inner) = root.field(Field::Argument) {
            root = inner;
        }
        root.kind() == Kind::Identifier && self.tree.slice(root) == self.holder.declaration.name
    }

    /// Whether values can be read before all statements: these declare nothing, and what they write are elements of the function's own
    /// array, not what a member of these points to.
    fn may_read_before(&self, first: Node<'h>, last: Node<'h>) -> bool {
        let Some(extents) = self.holder.extents().filter(|extents| !extents.is_empty()) else { return false };
        let is_element = |name: Node<'h>| {
            Path::of(name).is_some_and(|path| {
                let leading = path.steps.iter().take_while(|step| matches!(step, Step::Index(_))).count();
                path.is_whole
                    && leading == extents.len()
                    && !path.steps[leading..].iter().any(|it| matches!(it, Step::Index(_)))
            })
        };
        let array = &self.holder.declaration.name;
        let mut all = statements(first, last);
        self.holder.is_own()
            && all.all(|statement| {
                let mut names = self.tree.identifiers_below(statement).into_iter();
                statement.kind() == Kind::ExpressionStatement
                    && names.all(|name| self.tree.slice(name) != array || is_element(name))
            })
    }

    /// The statements of a run in a loop over all elements; `None` if they read anything else there than the array and variables.
    fn in_one_loop(
        &mut self,
        found: &IndexedUse<'h>,
        uses: &[IndexedUse<'h>],
        (first, last): (Node<'h>, Node<'h>),
    ) -> Option<Vec<Edit>> {
        let tree = self.tree;
        let range = first.start_byte()..last.end_byte();
        let mut lines = Lines::new();
        let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
        let base = self.base_name(found);
        let indices = self.steady_indices(found, last, &mut lines);
        if self.may_read_before(first, last) {
            let array = self.holder.declaration.name.as_str();
            for statement in statements(first, last) {
                let right = statement.named_child(0).and_then(|it| it.field(Field::Right));
                if let Some(right) = right {
                    self.read_before((right, statement == first), array, &base, &mut replaced, &mut lines);
                }
            }
            let is_read = |node: Node<'h>| replaced.iter().any(|(range, _)| *range == node.byte_range());
            let mut rights = statements(first, last).filter_map(|it| it.named_child(0)?.field(Field::Right));
            if !rights.all(|right| self.is_simple_but(right, &is_read)) {
                return None;
            }
        }
        let counters = self.counters_beside(found, &indices, tree.text().get(range.clone())?)?;
        // Some of the accesses may be none to the compiler, which does two at once.
        for index in statements(first, last).flat_map(Node::descendants).filter_map(|it| Subscript::of(it)?.index()) {
            let mut own = found.dimensions.iter().zip(&counters);
            let counter = own.find(|(dimension, _)| self.is_same_text(dimension.index, index));
            replaced.extend(counter.map(|(_, counter)| (index.byte_range(), counter.clone())));
        }
        for used in uses {
            replaced.extend(Self::counted(used, &counters));
        }
        let body = self.text(range.clone(), &replaced);
        self.in_loops(found, (&counters, &indices), range, &body, lines)
    }

    /// The same of an expression without some parts.
    fn is_simple_but(&self, node: Node<'h>, is_left_out: &dyn Fn(Node<'h>) -> bool) -> bool {
        if is_left_out(node) || self.is_simple(node) {
            return true;
        }
        let is_evaluated =
            matches!(node.kind(), Kind::BinaryExpression | Kind::ParenthesizedExpression | Kind::UnaryExpression);
        is_evaluated && node.named_children().all(|child| self.is_simple_but(child, is_left_out))
    }
}

/// The next statement of a block in a direction, without comments.
fn neighbour<'t>(node: Node<'t>, next: fn(&Node<'t>) -> Option<Node<'t>>) -> Option<Node<'t>> {
    std::iter::successors(next(&node), next).find(|node| node.kind() != Kind::Comment)
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::super::tests::{check, edited, edited_where};

    #[test]
    fn statements_of_one_index_share_a_loop() {
        check(
            "v",
            "    v[n].x += 1; // one\n    v[n].y = v[n].x;\n    v[n].z++;\n    out[0] = 1;",
            "    #pragma unroll
    for (int k = 0; k < 5; ++k) if (k == n) {
        v[k].x += 1; // one
        v[k].y = v[k].x;
        v[k].z++;
    }
    out[0] = 1;",
        );
        // An exchange ends with what needs the value that it began with.
        check(
            "c",
            "    for (int i = 0; i < 6; ++i) {\n        int t = c[n];\n        c[n] = c[i];\n        c[i] = t;\n    }",
            "    for (int i = 0; i < 6; ++i) {
        #pragma unroll
        for (int k = 0; k < 6; ++k) if (k == n) {
            int t = c[k];
            c[k] = c[i];
            c[i] = t;
        }
    }",
        );
        check(
            "b",
            "    float t = b[n][1];\n    b[n][1] = b[n][2];\n    b[n][2] = t;",
            "    #pragma unroll
    for (int k = 0; k < 4; ++k) if (k == n) {
        float t = b[k][1];
        b[k][1] = b[k][2];
        b[k][2] = t;
    }",
        );
        // What is read elsewhere is read before.
        check(
            "v",
            "    v[n].x = in[n];\n    v[n].y = in[n + 1] * 2.f + v[n].x;",
            "    const auto v_value = in[n];
    const auto v_value_2 = in[n + 1] * 2.f;
    #pragma unroll
    for (int k = 0; k < 5; ++k) if (k == n) {
        v[k].x = v_value;
        v[k].y = v_value_2 + v[k].x;
    }",
        );
    }

    #[test]
    fn statements_beside_share_the_loop() {
        let beside = |body: &str, computed: &str| {
            let text = edited_where("v", Form::Branch, body, computed).unwrap();
            text.replace("    ", "").replace("#pragma unroll\nfor (int k = 0; k < 5; ++k) if (k == n) ", "for ")
        };
        let all = "    v[n].x = 1;\n    // both\n    v[n].y = v[n].x + v[0].x;\n    v[n].z++;";
        assert_eq!(beside(all, "v[n].y"), "for {\nv[k].x = 1;\n// both\nv[k].y = v[k].x + v[0].x;\nv[k].z++;\n}");
        // One that does something else stays.
        assert_eq!(beside("    v[n].x = 1;\n    out[0] = v[n].x;", "v[n].x = 1"), "for v[k].x = 1;\nout[0] = v[n].x;");
        assert_eq!(beside("    v[n].x = 1;\n    v[n + 1].y = 2;", "v[n].x"), "for v[k].x = 1;\nv[n + 1].y = 2;");
    }

    #[test]
    fn statements_that_share_no_loop() {
        for body in [
            // Another index, or one that changes.
            "    v[n].x = 1;\n    v[n + 1].y = 2;",
            "    int i = n;\n    v[i].x = 1;\n    i++;\n    v[i].y = 2;",
            "    int i = n;\n    int& r = i;\n    v[i].x = 1;\n    v[i].y = 2;",
            "    int& i = p[0];\n    v[i].x = 1;\n    v[i].y = 2;",
            "    using R = int&;\n    R i = p[0];\n    v[i].x = 1;\n    v[i].y = 2;",
            "    v[p[0]].x = 1;\n    v[p[0]].y = 2;",
            "    v[n++].x = 1;\n    v[n++].y = 2;",
            "    v[(int)v[0].x].x = 1;\n    v[(int)v[0].x].y = 2;",
            "    v[n].x = 1;\n    int n = 2;\n    v[n].y = n;",
            // What happens between, or is computed for each element.
            "    v[n].x = 1;\n    out[0] = 1;\n    v[n].y = 2;",
            "    v[n].x = 1;\n    __syncthreads();\n    v[n].y = 2;",
            "    v[n].x = 1;\n    if (n > 2) return;\n    v[n].y = 2;",
            "    v[n].x = sqrtf(n);\n    float y = sqrtf(n + 1);\n    v[n].y = y;",
            "    float x = v[n].x;\n    float y = v[n].y;\n    out[0] = x + y;",
            "    float x = v[n].x;\n    v[n].x = 0;\n    out[0] = x;",
            "    float x = v[n].x;\n    v[n].x = in[(int)x];",
            "    if (n > 0)\n        v[n].x = 1;\n    v[n].y = 2;",
            "    v[n].x = 1;\n    { v[n].y = 2; }",
            "    v[n].x = 1;\n#if 1\n    v[n].y = 2;\n#endif",
        ] {
            let text = edited("v", Form::Branch, body).unwrap_or_default();
            assert!(!text.contains("if (k == n) {") && !text.contains("if (k == i) {"), "{body}\n{text}");
        }
        // Both forms of what is done for each element are tried.
        assert!(!edited("c", Form::Select, "    c[n] = 1;\n    c[n] += 2;").unwrap().contains("if (k"));
    }
}
