//! `swap(a[i], a[j]);`: both values are read before the elements are written.

use cuda_syntax::ast::{Call, Kind, Node, Subscript};
use cuda_syntax::identifiers::identifiers;
use lmem_base::diagnostic::Edit;

use super::text::condition;
use super::{Lines, Writer, has_comment};
use crate::rewrite::facts::exchanged::exchanged;
use crate::rewrite::facts::number::is_value_type;
use crate::rewrite::facts::purity::{is_arithmetic, is_pure};
use crate::rewrite::select::holder::IndexedUse;

impl<'h> Writer<'h> {
    /// Lines that take the place of a call that exchanges two elements, or one with a variable.
    pub(super) fn exchange(&mut self, uses: &[IndexedUse<'h>], call: Node<'h>) -> Option<Vec<Edit>> {
        let tree = self.tree;
        let sides = exchanged(tree, Call::of(call)?)?;
        let used = sides.map(|side| uses.iter().find(|found| found.node == side));
        // What else is selected stands in an index.
        let are_all = used.iter().flatten().count() == uses.len();
        let first = uses.first()?;
        // `swap(x, a[x])` would ask for the new `x`.
        let is_index = |side: &Node<'h>| {
            let names = || uses.iter().flat_map(|found| &found.dimensions).flat_map(|it| tree.identifiers(it.index));
            side.kind() == Kind::Identifier && names().any(|name| tree.slice(name) == tree.slice(*side))
        };
        let is_plain = are_all
            && uses.iter().all(|found| self.is_fit_for_exchange(found))
            && !sides.iter().any(is_index)
            && tree.compiled().is_verbatim(&call.byte_range())
            && !has_comment(first.statement, uses);
        if !is_plain {
            return None;
        }
        if let [found] = uses
            && sides.iter().all(|side| *side == found.node || is_pure(tree, *side))
            && self.is_steady_in(found, found.statement, found.statement)
        {
            return self.exchange_where_it_is(found);
        }
        let are_fit = sides
            .iter()
            .zip(&used)
            .all(|(side, used)| used.is_some() || self.is_own_value(*side) || self.is_own_element(*side));
        let type_text = first.type_text.clone().filter(|text| are_fit && is_value_type(tree, text))?;
        let are_alike =
            uses.iter().all(|found| found.type_text.as_ref() == Some(&type_text) && found.dimensions.len() == 1);
        if !are_alike {
            return None;
        }
        let mut lines = Lines::new();
        let mut values = Vec::new();
        for (side, found) in sides.iter().zip(&used) {
            values.push(match found {
                Some(found) => self.read(found, &[], &mut lines)?,
                None => {
                    let word = identifiers(tree.slice(*side)).next().unwrap_or_default();
                    let name = self.fresh(&format!("{}_before", word.trim_matches('_')));
                    lines.push((0, format!("const {type_text} {name} = {};", tree.slice(*side))));
                    name
                }
            });
        }
        // The element that is named last has what it gets where both are one.
        let targets = sides.iter().zip(used).zip(values.iter().rev());
        for ((side, found), value) in targets {
            let Some(found) = found else {
                lines.push((0, format!("{} = {value};", tree.slice(*side))));
                continue;
            };
            let base = self.base_name(found);
            let indices = self.indices(found, &base, &[], &mut lines);
            let counters = self.counters(found, &indices)?;
            let (element, condition) = (self.element(found, &counters, &[]), condition(&counters, &indices));
            self.loops(found, &counters, 0, &[format!("if ({condition}) {element} = {value};")], &mut lines);
        }
        self.place(first.statement, &lines, Vec::new(), true)
    }

    /// The call in a loop over all elements, made for the one that has the index. What it is exchanged with may be anything that does
    /// not change the index.
    fn exchange_where_it_is(&mut self, found: &IndexedUse<'h>) -> Option<Vec<Edit>> {
        let mut lines = Lines::new();
        let indices = self.indices(found, &self.base_name(found), &[], &mut lines);
        let counters = self.counters(found, &indices)?;
        let text = self.text(found.statement.byte_range(), &Self::counted(found, &counters));
        let body = format!("if ({}) {text}", condition(&counters, &indices));
        self.loops(found, &counters, 0, &[body], &mut lines);
        self.place(found.statement, &lines, Vec::new(), true)
    }

    /// Whether an expression is a variable that only this function can change.
    fn is_own_value(&self, side: Node<'_>) -> bool {
        side.kind() == Kind::Identifier && self.is_own(side)
    }

    /// Whether an expression is an element of the array whose index becomes constant.
    fn is_own_element(&self, side: Node<'h>) -> bool {
        let tree = self.tree;
        let subscript = Subscript::of(side);
        let is_of_array = subscript
            .and_then(Subscript::base)
            .is_some_and(|base| base.kind() == Kind::Identifier && tree.slice(base) == self.holder.declaration.name);
        let index = subscript.and_then(Subscript::index).filter(|_| is_of_array);
        index.is_some_and(|index| {
            is_arithmetic(tree, index) && tree.identifiers(index).iter().all(|name| self.is_own(*name))
        })
    }

    /// Whether an element's index has the same value wherever it is evaluated in the lines.
    fn is_fit_for_exchange(&self, found: &IndexedUse<'_>) -> bool {
        let tree = self.tree;
        found.dimensions.iter().all(|dimension| {
            let names = tree.identifiers(dimension.index);
            is_pure(tree, dimension.index)
                && is_arithmetic(tree, dimension.index)
                && names.iter().all(|name| self.is_own(*name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::super::tests::{check, edited, edited_beside};

    const SWAP: &str = "template <typename T> __device__ void swap_(T& a, T& b) { T t = a; a = b; b = t; }\n";

    #[test]
    fn exchanged_elements_are_read_before() {
        let expected = "    int c_element = c[0];
    #pragma unroll
    for (int k = 1; k < 6; ++k) {
        const int candidate = c[k];
        c_element = k == n ? candidate : c_element;
    }
    int c_element_2 = c[0];
    #pragma unroll
    for (int k = 1; k < 6; ++k) {
        const int candidate = c[k];
        c_element_2 = k == (n + 1) ? candidate : c_element_2;
    }
    #pragma unroll
    for (int k = 0; k < 6; ++k) if (k == n) c[k] = c_element_2;
    #pragma unroll
    for (int k = 0; k < 6; ++k) if (k == (n + 1)) c[k] = c_element;";
        check("c", "    std::swap(c[n], c[n + 1]);", expected);
        assert_eq!(edited_beside(SWAP, "c", "    swap_(c[n], c[n + 1]);").as_deref(), Some(expected));
    }

    #[test]
    fn the_other_value_may_have_a_name_or_a_constant_index() {
        let lines = |body: &str| edited("c", Form::Branch, body).map(|text| text.replace("    ", ""));
        for (body, expected) in [
            ("    int x = 2; std::swap(x, c[n]);", "std::swap(x, c[k]);"),
            ("    for (int i = 0; i < 6; ++i) std::swap(c[n], c[i]);", "std::swap(c[k], c[i]);"),
            ("    std::swap(p[n], c[n]);", "std::swap(p[n], c[k]);"),
            ("    std::swap(*p, c[n]);", "std::swap(*p, c[k]);"),
        ] {
            let text = lines(body).unwrap();
            let expected = format!("#pragma unroll\nfor (int k = 0; k < 6; ++k) if (k == n) {expected}");
            assert!(text.contains(&expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_exchange_of_two_values_is_left_alone() {
        for body in [
            "    swap_(c[n], c[n + 1]);",
            "    std::swap(c[p[0]], c[n]);",
            "    std::swap(c[n++], c[n]);",
            "    std::swap(n, c[n]);",
            "    int* q = &n; std::swap(c[n], *q);",
            "    int i = n; int& j = i; std::swap(c[i], j);",
            "    std::swap(c[n], p[--n]);",
            "    std::swap((n), c[n]);",
            "    std::swap(n > 0 ? n : p[0], c[n]);",
            "    int& i = p[0]; std::swap(c[i], p[0]);",
            "    std::swap(c[c[n]], c[n]);",
            "    std::swap(c[n], /* both */ c[n + 1]);",
            "    out[0] = (std::swap(c[n], c[n + 1]), 1);",
        ] {
            assert_eq!(edited("c", Form::Branch, body), None, "{body}");
        }
        for other in [
            "__device__ void swap_(int& a, int& b) { int t = a; a = b; b = t + 1; }\n",
            "__device__ void swap_(int& a, int& b) { char t = a; a = b; b = t; }\n",
        ] {
            assert_eq!(edited_beside(other, "c", "    swap_(c[n], c[n + 1]);"), None, "{other}");
        }
        let hidden = "    auto swap_ = [](int& a, int& b) { b = a; };\n    swap_(c[n], c[n + 1]);";
        assert_eq!(edited_beside(SWAP, "c", hidden), None);
    }
}
