//! Indices that depend only on induction variables: `i & 7`, or `s` with `const int s = i & 7`.

use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::tree::{CounterSyntax, DeclarationKind};

/// Limit on chains of variables and their initializers.
const MAX_DEPTH: usize = 4;

/// Whether an expression is computed from induction variables and constants only.
pub fn is_of_counters(tree: &SyntaxTree, range: &Range<usize>, counters: &[CounterSyntax]) -> bool {
    is_derived(tree, range, counters, MAX_DEPTH)
}

fn is_derived(tree: &SyntaxTree, range: &Range<usize>, counters: &[CounterSyntax], depth: usize) -> bool {
    let text = tree.text().get(range.clone()).unwrap_or("");
    // A load or a call gives data.
    if depth == 0 || text.contains(['[', '(', '*', '.', '>', '=', '?']) {
        return false;
    }
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    words.into_iter().all(|word| {
        let at = word.as_ptr() as usize - tree.text().as_ptr() as usize;
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        is_number
            || counters.iter().any(|counter| counter.name == word)
            || tree.is_fixed(word, at)
            || is_made_of_counters(tree, at..at + word.len(), counters, depth)
    })
}

/// Whether a word is a constant whose initializer is computed from induction variables.
fn is_made_of_counters(tree: &SyntaxTree, word: Range<usize>, counters: &[CounterSyntax], depth: usize) -> bool {
    let declaration = tree.declaration_of(&word).filter(|declaration| declaration.kind == DeclarationKind::Scalar);
    let Some((start, end)) = declaration.as_ref().and_then(|declaration| declaration.initializer) else {
        return false;
    };
    let is_constant = declaration.is_some_and(|declaration| tree.is_declared_constant(&declaration));
    is_constant && is_derived(tree, &(start..end), counters, depth - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "__global__ void k(float* a, const int* from, int n) {
  for (int i = 0; i < n; ++i) {
    const int s = i & 7, p = from[i] & 7, r = s + 1;
    int m = i;
    a[s] = a[p] + a[r] + a[m] + a[i + n];
  }
}
";

    #[test]
    fn counters_decide_on_what_is_made_of_them() {
        let tree = SyntaxTree::example("a.cu", TEXT);
        let counters = tree.counters_around(tree.offset(5, 5).unwrap());
        let is_of = |index: &str| {
            let at = TEXT.find(&format!("a[{index}]")).unwrap() + 2;
            is_of_counters(&tree, &(at..at + index.len()), &counters)
        };
        assert_eq!(["s", "p", "r", "m", "i + n"].map(is_of), [true, false, true, false, false]);
    }
}
