//! Lines that replace a statement writing an element.

use std::ops::Range;

use super::text::condition;
use super::{Form, Lines, Writer};
use crate::rewrite::facts::number::{is_number, is_value_type};
use crate::rewrite::facts::operators::{calls_operator, declares_operator, has_conversions};
use crate::rewrite::facts::variables::variable;
use crate::rewrite::select::holder::IndexedUse;
use cuda_syntax::ast::{Field, Kind, Node};

impl Writer<'_> {
    /// Lines that replace an assignment, increment or decrement of an element.
    pub(super) fn write(
        &mut self,
        found: &IndexedUse<'_>,
        node: Node<'_>,
        is_update: bool,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Option<()> {
        // An operator of a class that takes the value may change what the index names, in each round.
        let symbol = node.field(Field::Operator).map_or("", |it| self.tree.slice(it));
        let is_of_class = |right: Node<'_>| right.kind() == Kind::Identifier && !self.is_value(right);
        if declares_operator(self.tree, symbol) && node.field(Field::Right).is_some_and(is_of_class) {
            return None;
        }
        let base = self.base_name(found);
        // The value comes first, as in C++17: it may name what the index counts.
        let is_counted = self.is_taken_once(found);
        let early = (!is_counted).then(|| self.indices(found, &base, replaced, lines));
        let right = node.field(Field::Right);
        let mut parts = Vec::new();
        if let Some(right) = right.filter(|_| is_update) {
            self.hoist(right, found, &base, &mut parts, lines);
        }
        let value = match right {
            Some(right) if is_update => Some(self.text(right.byte_range(), &parts)),
            Some(right) => Some(self.value(found, node, right, &base, replaced, lines)?),
            None => None,
        };
        let indices = early.unwrap_or_else(|| self.indices(found, &base, replaced, lines));
        let counters = self.counters(found, &indices)?;
        let element = self.element(found, &counters, replaced);
        let value = value.map(|value| match is_update {
            true => value.replace(self.tree.slice(found.node), &element),
            false => value,
        });
        let condition = condition(&counters, &indices);
        let operator = node.operator()?;
        let body = match (self.form, value) {
            (Form::Branch, Some(value)) => format!("if ({condition}) {element} {operator} {value};"),
            (Form::Branch, None) if node.child(0)?.is_named() => format!("if ({condition}) {element}{operator};"),
            (Form::Branch, None) => format!("if ({condition}) {operator}{element};"),
            // What others hold at the same time, they may write.
            (Form::Select, _) if !self.holder.is_own() => return None,
            (Form::Select, value) => {
                // Only with equal types on both sides, the value needs no conversion; and only of a number, `+=` is `+`.
                let type_text = found.type_text.as_ref().filter(|text| is_value_type(self.tree, text))?;
                let cast = |sum: String| match type_text.as_str() {
                    "float" | "double" => sum,
                    _ => format!("static_cast<{type_text}>({sum})"),
                };
                let changed = match (operator, value) {
                    ("=", Some(value)) if is_update => cast(value),
                    ("=", Some(value)) => value,
                    ("++", None) => cast(format!("{element} + 1")),
                    ("--", None) => cast(format!("{element} - 1")),
                    (_, Some(value)) => cast(format!("{element} {} {value}", operator.strip_suffix('=')?)),
                    (_, None) => return None,
                };
                format!("{element} = {condition} ? {changed} : {element};")
            }
        };
        self.loops(found, &counters, 0, &[body], lines);
        Some(())
    }

    /// Whether a name is that of a number, or of one of CUDA's types that hold some.
    fn is_value(&self, name: Node<'_>) -> bool {
        is_number(self.tree, name)
            || variable(self.tree, name).is_some_and(|own| is_value_type(self.tree, &own.type_text))
    }

    /// The written value, evaluated once.
    fn value(
        &mut self,
        found: &IndexedUse<'_>,
        node: Node<'_>,
        right: Node<'_>,
        base: &str,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Option<String> {
        let text = self.text(right.byte_range(), replaced);
        let is_read = replaced.iter().any(|(range, _)| *range == right.byte_range());
        let is_literal = matches!(right.kind(), Kind::NumberLiteral | Kind::CharLiteral | Kind::True | Kind::False);
        // What is converted in each round may change what the index names.
        let is_known =
            || is_number(self.tree, right) || !(has_conversions(self.tree) || calls_operator(self.tree, node));
        let is_local =
            right.kind() == Kind::Identifier && self.is_own(right) && is_known() && !self.counts_for_others(found);
        let is_assignment = node.field(Field::Operator).is_some_and(|it| self.tree.slice(it) == "=");
        // A choice would convert the value that is assigned; an operator takes it as it is.
        let is_as_it_is = self.form == Form::Branch || !is_assignment;
        if is_read || (is_as_it_is && (is_literal || is_local)) {
            return Some(text);
        }
        let type_text = match &found.type_text {
            Some(type_text) if is_assignment => type_text.clone(),
            _ if right.kind() == Kind::InitializerList => return None,
            // An object would be kept beyond what it was made of, and converted as another kind of value.
            _ if has_conversions(self.tree) && !is_number(self.tree, right) => return None,
            _ => "auto".to_string(),
        };
        let name = self.fresh(&format!("{base}_value"));
        lines.push((0, format!("const {type_text} {name} = {text};")));
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::edited;
    use super::*;

    #[test]
    fn writes_become_choices() {
        let lines = |body: &str| edited("c", Form::Branch, body).map(|text| text.replace("    ", " "));
        for (body, expected) in [
            ("    c[n]++;", " #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == n) c[k]++;"),
            ("    --c[n];", " #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == n) --c[k];"),
            (
                "    c[n + 1] = in[n];",
                " const int c_value = in[n];\n #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == (n + 1)) c[k] = c_value;",
            ),
            (
                "    c[n] = max(c[n], p[n]);",
                " const auto c_value = p[n];\n #pragma unroll\n for (int k = 0; k < 6; ++k) if (k == n) c[k] = max(c[k], c_value);",
            ),
        ] {
            assert_eq!(lines(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn a_select_keeps_the_type() {
        let last = |name: &str, body: &str| {
            edited(name, Form::Select, body).and_then(|text| text.lines().last().map(|line| line.trim().to_string()))
        };
        assert_eq!(
            last("c", "    c[n] += p[0];").as_deref(),
            Some("for (int k = 0; k < 6; ++k) c[k] = k == n ? static_cast<int>(c[k] + c_value) : c[k];")
        );
        assert_eq!(
            last("c", "    c[n] = 1;").as_deref(),
            Some("for (int k = 0; k < 6; ++k) c[k] = k == n ? c_value : c[k];")
        );
        assert_eq!(
            last("a", "    a[n] *= 2;").as_deref(),
            Some("for (int k = 0; k < W; ++k) a[k] = k == n ? a[k] * 2 : a[k];")
        );
        // The type of a member is unknown.
        assert_eq!(last("v", "    v[n].x += 2;"), None);
    }
}
