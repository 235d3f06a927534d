//! Whether an index is computed from the induction variables of loops around it, also through inlined functions.

use std::ops::Range;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::{Walk, base_name};
use lmem_base::mangling::demangle;

use crate::place::Places;

/// Limit on inlining levels over which parameters are followed.
const MAX_LEVELS: usize = 8;

/// The start of an index that is computed from induction variables and constants only; `None` for any other index. The
/// remainder of a loop unrolled by a factor has no induction variable in the machine code, only the rest of the loop
/// bound; the source shows that its index is one all the same. A parameter of an inlined function stands for its
/// argument. `places` start at the level with the index, which is so many levels outside of the access.
pub fn walk_of(index: &Range<usize>, level: usize, places: &Places, trees: &SyntaxTrees<'_>) -> Option<Walk> {
    let place = places.first()?;
    let text = place.tree(trees).text().get(index.clone())?;
    let is_plain =
        text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '+' | '-' | '*' | '(' | ')' | '[' | ']'));
    let counters = place.tree(trees).counters_around(index.start);
    let mut walk = None;
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
        // An inner loop's induction variable shadows those of outer loops.
        let counter = counters.iter().find(|counter| counter.name == word);
        let found = match counter {
            Some(counter) => counter.walk?,
            None if place.tree(trees).is_fixed(word, index.start) => continue,
            None => walk_of_argument(word, index.start, level, places, trees)?,
        };
        walk = walk.max(Some(found));
    }
    walk.filter(|_| is_plain)
}

/// The start of the argument for a parameter.
fn walk_of_argument(name: &str, offset: usize, level: usize, places: &Places, trees: &SyntaxTrees<'_>) -> Option<Walk> {
    let callers = places.rest()?;
    let (place, caller) = (places.first()?, callers.first()?);
    if level >= MAX_LEVELS || place.function != caller.callee {
        return None;
    }
    let number = place.tree(trees).parameters_around(offset)?.iter().position(|parameter| parameter == name)?;
    let region = caller.tree(trees).region(caller.offset)?;
    let callee = demangle(caller.callee.as_deref()?);
    let calls = caller.tree(trees).calls_of(region, &callee);
    // A closure is called by the name of the variable or parameter that holds it.
    let mut walks = calls.iter().map(|call| walk_of(call.arguments.get(number)?, level + 1, callers, trees));
    let first = walks.next()??;
    walks.all(|walk| walk == Some(first)).then_some(first).filter(|_| !base_name(&callee).is_empty())
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;

    use super::*;
    use crate::place::Place;

    /// The start of the only index of `a` in a function's body.
    fn walk(body: &str) -> Option<Walk> {
        let text =
            format!("constexpr int W = 4;\ntemplate <int T> __global__ void k(int n, int degree) {{\n{body}\n}}\n");
        let example = Example::new(&text);
        let trees = example.trees();
        let id = trees.id(Example::NAME).unwrap();
        let tree = trees.tree(id);
        let start = tree.text().rfind("a[").unwrap() + 2;
        let end = start + tree.text()[start..].find(']').unwrap();
        let place = Place { tree: id, line: 3, offset: start, function: None, callee: None };
        walk_of(&(start..end), 0, &[place].into_iter().collect(), &trees)
    }

    #[test]
    fn counters_walk_from_any_start() {
        for (header, expected) in [
            ("for (int k = 0; k < n; ++k)", Some(Walk::FromConstant)),
            ("for (int k = 0; k < T - 1; ++k)", Some(Walk::Constant)),
            ("for (int k = 0; k < T; k++) for (int i = 0; i < n; ++i)", Some(Walk::Constant)),
            ("for (int k = 0; k < T; ++k) if (k == n) break; else", Some(Walk::FromConstant)),
            ("for (int k = W - 1; k >= 0; k -= 2)", Some(Walk::Constant)),
            ("for (int k = 1; k < n; k <<= 1)", Some(Walk::FromConstant)),
            ("for (int k = degree; k >= 0; --k)", Some(Walk::FromValue)),
            ("for (int i = 0; i < n; ++i) for (int k = i + 1; k < 40; k += W)", Some(Walk::FromValue)),
            ("for (k = degree; k + 1 < n; k++)", Some(Walk::FromValue)),
            ("for (; k < n; k = k + 1, ++degree)", Some(Walk::FromValue)),
            ("while (k-- > 0)", Some(Walk::FromValue)),
            ("while (k--)", Some(Walk::FromValue)),
            ("while (--k >= 0)", Some(Walk::FromValue)),
            ("while (n > 0 && k-- > 0)", None),
            ("for (int k = 8; --k >= 0;)", Some(Walk::Constant)),
            ("for (int k = 8; k--;)", Some(Walk::Constant)),
            ("for (k = 8; k-- > 0; degree = n)", Some(Walk::Constant)),
            ("for (int k = degree; --k >= 0;)", Some(Walk::FromValue)),
            ("for (int k = 8; --k >= 0; --k)", None),
            ("for (int k = 8; --k >= 0;) if (k == n) --k; else", None),
            ("for (int k = 8; n > 0 && --k >= 0;)", None),
            ("for (int k = degree; k < n; k += n)", None),
            ("for (int k = degree; k < n; k >>= 1)", None),
            ("for (int k = 0; k < n; k = next[k])", None),
            ("for (int k = degree; key[k] != n; ++k)", None),
            ("for (int k = 0; key[k] != n; ++k)", Some(Walk::FromConstant)),
        ] {
            assert_eq!(walk(&format!("{header} {{ a[k] = 0; }}")), expected, "{header}");
        }
    }

    #[test]
    fn a_counter_that_the_body_changes_is_data() {
        assert_eq!(walk("for (int k = 0; k < n; ++k) { if (n & 1) k += 2; a[k] = 0; }"), None);
        assert_eq!(walk("for (int k = 0; k < n; ++k) { skip(&k); a[k] = 0; }"), None);
        assert_eq!(walk("for (int k = 0; k < n; ++k) { a[k] = f(k); }"), Some(Walk::FromConstant));
        assert_eq!(walk("while (k < n) { a[k] = 0; ++k; }"), Some(Walk::FromValue));
        assert_eq!(walk("while (k) { degree += n; a[--k] = 0; }"), Some(Walk::FromValue));
        assert_eq!(walk("while (k) { if (n) a[--k] = 0; }"), None);
        assert_eq!(walk("while (k) { for (;;) a[--k] = 0; }"), None);
        assert_eq!(walk("while (top > 0) { --top; if (n) a[top++] = 0; }"), None);
        assert_eq!(walk("while (top > 0) { if (n) --top; a[top] = 0; }"), None);
    }

    #[test]
    fn indices_are_counters_and_constants() {
        for (index, expected) in [
            ("i", true),
            ("i * 4 + j", true),
            ("i * W + T", true),
            ("7 - i", true),
            ("n - 1 - i", false),
            ("i % 8", false),
            ("3", false),
            ("b(i)", false),
        ] {
            let body = format!("for (int i = 0; i < n; ++i) for (int j = 0; j < 4; ++j) {{ a[{index}] = 0; }}");
            assert_eq!(walk(&body).is_some(), expected, "{index}");
        }
    }
}
