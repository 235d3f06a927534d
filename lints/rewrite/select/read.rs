//! Lines that read an element before a statement.

use std::ops::Range;

use super::text::condition;
use super::{Lines, Writer};
use crate::rewrite::select::holder::IndexedUse;

impl Writer<'_> {
    /// Adds lines that read an element; returns the name of the variable with its value.
    pub(super) fn read(
        &mut self,
        found: &IndexedUse<'_>,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Option<String> {
        let base = self.base_name(found);
        let indices = self.indices(found, &base, replaced, lines);
        let name = self.fresh(&format!("{base}_element"));
        let candidate = self.fresh("candidate");
        // The name may be used again: each loop has its own scope.
        self.given.retain(|given| *given != candidate);
        let counters = self.counters(found, &indices)?;
        let zeros: Vec<String> = counters.iter().map(|_| "0".to_string()).collect();
        let type_text = found.type_text.clone().unwrap_or_else(|| "auto".to_string());
        lines.push((0, format!("{type_text} {name} = {};", self.element(found, &zeros, replaced))));
        let body = [
            format!("const {type_text} {candidate} = {};", self.element(found, &counters, replaced)),
            format!("{name} = {} ? {candidate} : {name};", condition(&counters, &indices)),
        ];
        // The first element is the initial value, so the loop starts after it.
        self.loops(found, &counters, usize::from(counters.len() == 1), &body, lines);
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn reads_become_selects() {
        check(
            "a",
            "    out[n] = a[p[n]] * 2;",
            "    const auto a_index = p[n];
    float a_element = a[0];
    #pragma unroll
    for (int k = 1; k < W; ++k) {
        const float candidate = a[k];
        a_element = k == a_index ? candidate : a_element;
    }
    out[n] = a_element * 2;",
        );
        // Two equal uses share one read; an arithmetic index is not evaluated in advance.
        check(
            "a",
            "    for (int k = 0; k < n; ++k) {\n        if (a[k & 3] < a[k & 3] * in[k]) out[k] = 1;\n    }",
            "    for (int k = 0; k < n; ++k) {
        float a_element = a[0];
        #pragma unroll
        for (int j = 1; j < W; ++j) {
            const float candidate = a[j];
            a_element = j == (k & 3) ? candidate : a_element;
        }
        if (a_element < a_element * in[k]) out[k] = 1;\n    }",
        );
    }
}
