//! `int slot = next[key]++;`: the element is read and updated before its statement.

use cuda_syntax::ast::Node;
use lmem_base::diagnostic::Edit;

use super::effects::Effects;
use super::text::condition;
use super::{Form, Lines, Writer, has_comment};
use crate::rewrite::facts::number::is_value_type;
use crate::rewrite::select::holder::IndexedUse;

impl<'h> Writer<'h> {
    /// Lines before the statement that update the element and keep its value; `None` if the statement may access the
    /// array in any other way.
    pub(super) fn step(&mut self, found: &IndexedUse<'h>, node: Node<'h>) -> Option<Vec<Edit>> {
        let tree = self.tree;
        let effects = Effects::of(tree, found.statement, Some(node));
        let array = self.holder.declaration.name.as_str();
        let below = tree.identifiers_below(found.statement);
        let is_alone = below.into_iter().filter(|name| tree.slice(*name) == array).count() == 1;
        let is_fit = is_alone && !found.is_conditional && self.is_movable(found, &effects);
        if !is_fit || has_comment(found.statement, std::slice::from_ref(found)) {
            return None;
        }
        if self.form == Form::Select && !self.holder.is_own() {
            return None;
        }
        // Only of a number, `++` adds 1.
        let type_text = found.type_text.clone().filter(|text| is_value_type(tree, text))?;
        let mut lines = Lines::new();
        let base = self.base_name(found);
        let indices = self.indices(found, &base, &[], &mut lines);
        let (name, candidate) = (self.fresh(&format!("{base}_element")), self.fresh("candidate"));
        // The name may be used again: each loop has its own scope.
        self.take_back(&candidate);
        let counters = self.counters(found, &indices)?;
        let zeros: Vec<String> = counters.iter().map(|_| "0".to_string()).collect();
        let (element, condition) = (self.element(found, &counters, &[]), condition(&counters, &indices));
        let operator = node.operator()?.get(..1)?;
        let changed = format!("static_cast<{type_text}>({candidate} {operator} 1)");
        // `++a[k]` has the updated value.
        let is_before = !node.child(0)?.is_named();
        let value = if is_before { &changed } else { &candidate };
        lines.push((0, format!("{type_text} {name} = {};", self.element(found, &zeros, &[]))));
        let body = [
            format!("const {type_text} {candidate} = {element};"),
            format!("{name} = {condition} ? {value} : {name};"),
            match self.form {
                Form::Branch => format!("if ({condition}) {element} = {changed};"),
                Form::Select => format!("{element} = {condition} ? {changed} : {candidate};"),
            },
        ];
        self.loops(found, &counters, 0, &body, &mut lines);
        let edits = vec![tree.replacement(node.byte_range(), &name)?];
        self.place(found.statement, &lines, edits, false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, edited};
    use super::*;

    #[test]
    fn elements_are_counted_before() {
        check(
            "c",
            "    out[c[n]++] = in[n];",
            "    int c_element = c[0];
    #pragma unroll
    for (int k = 0; k < 6; ++k) {
        const int candidate = c[k];
        c_element = k == n ? candidate : c_element;
        if (k == n) c[k] = static_cast<int>(candidate + 1);
    }
    out[c_element] = in[n];",
        );
        let before = edited("c", Form::Select, "    int left = --c[n];").unwrap();
        assert!(before.contains("c_element = k == n ? static_cast<int>(candidate - 1) : c_element;"), "{before}");
        assert!(before.contains("c[k] = k == n ? static_cast<int>(candidate - 1) : candidate;"), "{before}");
        assert!(before.ends_with("int left = c_element;"), "{before}");
    }

    #[test]
    fn an_index_that_counts_is_taken_once() {
        check(
            "c",
            "    c[n++] = p[0];",
            "    const int c_value = p[0];
    const auto c_index = n++;
    #pragma unroll
    for (int k = 0; k < 6; ++k) if (k == c_index) c[k] = c_value;",
        );
        check(
            "c",
            "    out[0] = c[--n];",
            "    const auto c_index = --n;
    int c_element = c[0];
    #pragma unroll
    for (int k = 1; k < 6; ++k) {
        const int candidate = c[k];
        c_element = k == c_index ? candidate : c_element;
    }
    out[0] = c_element;",
        );
    }
}
