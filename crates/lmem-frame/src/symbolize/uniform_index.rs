//! Whether the text of an index shows that all threads of a warp have the same: it is made of numbers, parameters of the kernel, and
//! counters of loops that begin at a constant.

use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{Walk, access_path, enclosing_function, resolve, role};

/// Limit on variables whose initializers are followed, each inside of another.
const MAX_LEVELS: usize = 4;
/// Words of casts.
const TYPES: [&str; 6] = ["int", "unsigned", "long", "short", "char", "size_t"];

/// Whether an index has the same value in all threads that are in the same round of the loops around it. `false` where the text does not
/// tell. `is_of_kernel` says that its function is the kernel, whose parameters are the same in all threads.
pub fn is_uniform(tree: &SyntaxTree, index: &Range<usize>, is_of_kernel: bool) -> bool {
    is_uniform_within(tree, index, is_of_kernel, MAX_LEVELS)
}

fn is_uniform_within(tree: &SyntaxTree, index: &Range<usize>, is_of_kernel: bool, levels: usize) -> bool {
    let Some(text) = tree.text().get(index.clone()) else { return false };
    // What is loaded, or a member of something, may be anything.
    let is_sum = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_+-*/%&|^~()<>".contains(c);
    let is_steady = |word: &str| {
        TYPES.contains(&word) || tree.is_fixed(word, index.start) || is_steady(tree, word, index, is_of_kernel, levels)
    };
    text.chars().all(is_sum) && identifiers(text).all(is_steady)
}

fn is_steady(tree: &SyntaxTree, word: &str, index: &Range<usize>, is_of_kernel: bool, levels: usize) -> bool {
    if let Some(counter) = tree.counters_around(index.start).iter().find(|counter| counter.name == word) {
        return matches!(counter.walk, Some(Walk::Constant | Walk::FromConstant));
    }
    let found = || {
        let function = enclosing_function(tree.node_at(index.start)?)?;
        let all = tree.declarations(function);
        let own = resolve(&all, word, index.start)?;
        let names = tree.names_of(function, &all, own);
        if names.into_iter().any(|name| role(access_path(name)).1) {
            return Some(false);
        }
        match (own.initializer, levels.checked_sub(1)) {
            _ if own.is_parameter => Some(is_of_kernel),
            (Some((start, end)), Some(left)) => Some(is_uniform_within(tree, &(start..end), is_of_kernel, left)),
            _ => Some(false),
        }
    };
    found().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(index: &str, is_of_kernel: bool) -> bool {
        let text = format!(
            "constexpr int W = 4;\n__global__ void k(const int *p, int m, int n) {{\n  float a[8];\n  const int id = threadIdx.x;\n\
             const int u = (m + W) % 24u, v = p[id] % 8;\n  int moved = m;\n  n += id;\n\
             for (int i = 0; i < 9; ++i) for (int j = id; j < 9; ++j) {{ moved += 2; a[{index}] = i; }}\n}}\n"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        let start = text.rfind("a[").unwrap() + 2;
        is_uniform(&tree, &(start..start + index.len()), is_of_kernel)
    }

    #[test]
    fn sums_of_what_all_threads_share() {
        for index in ["m", "u", "(u + i) & 7", "(int)m % W", "i", "3"] {
            assert!(of(index, true), "{index}");
        }
        for index in ["v", "id", "p[m]", "moved", "n", "j", "u + v", "f(m)", "other", "threadIdx.x"] {
            assert!(!of(index, true), "{index}");
        }
        // A parameter of an inlined function may be anything.
        assert!(!of("u", false) && of("W + i", false));
    }
}
