//! Variables of code that one thread of each warp runs, or of each row of the block: `if (threadIdx.x % 32 == 0) { int
//! heap[32]; … }`. Shared memory for each of these threads is enough.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Kind, Node};

use super::declaration::{PrivateVariable, declared};
use super::groups::{Group, group_of_rank};
use super::section::{first_value, fixed_axes, known_values};

/// Names may lead to initializers with further names.
const MOST_STEPS: usize = 4;
/// More threads than this for one leader are more than a block has.
const MOST_THREADS: i64 = 1024;

impl PrivateVariable {
    /// The number of consecutive threads of a one-dimensional block of which one alone reaches the declaration.
    pub fn threads_of_leader(&self) -> Option<u32> {
        let declared = declared(&self.tree, self.offset)?;
        let periods = known_values(&self.tree, declared.statement).into_iter();
        let period = periods.filter_map(|(expression, value)| period(&self.tree, expression, value)).max()?;
        u32::try_from(period).ok()
    }

    /// Whether one thread of each row of a two-dimensional block alone reaches the declaration.
    pub fn is_of_leaders_of_rows(&self) -> bool {
        declared(&self.tree, self.offset).is_some_and(|declared| fixed_axes(&self.tree, declared.statement)[0])
    }
}

/// `32` for `threadIdx.x % 32` or `threadIdx.x & 31` with a value that one thread of 32 has.
fn period(tree: &SyntaxTree, expression: Node<'_>, value: i64) -> Option<i64> {
    let expression = named_value(tree, expression)?;
    if let Some(Group::Tile(size)) = group_of_rank(tree, expression) {
        return (size > 1 && (0..size).contains(&value)).then_some(size);
    }
    let rest = Binary::of(expression)?;
    let (left, right) = (rest.left()?, tree.settled_value_of(rest.right()?)?);
    let period = match rest.operator()? {
        "%" => right,
        "&" => right.checked_add(1).filter(|period| period.count_ones() == 1)?,
        _ => return None,
    };
    let index = named_value(tree, left)?;
    let is_fit = tree.slice(index).trim() == "threadIdx.x"
        && (2..=MOST_THREADS).contains(&period)
        && (0..period).contains(&value);
    is_fit.then_some(period)
}

/// An expression, or the only value of the variable that it is.
pub(super) fn named_value<'t>(tree: &'t SyntaxTree, expression: Node<'t>) -> Option<Node<'t>> {
    let mut expression = expression.without_parentheses();
    for _ in 0..MOST_STEPS {
        if expression.kind() != Kind::Identifier {
            return Some(expression);
        }
        expression = first_value(tree, expression)?.without_parentheses();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use cuda_syntax::identifiers::occurrences;

    fn leaders(body: &str) -> (Option<u32>, bool) {
        let text = format!(
            "namespace cg = cooperative_groups;\nconstexpr int WARP = 32;\n__global__ void k(float* out, int n) {{\n{body}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let variable = PrivateVariable::at(&tree, occurrences(&text, "w").next().unwrap()).unwrap();
        (variable.threads_of_leader(), variable.is_of_leaders_of_rows())
    }

    #[test]
    fn one_thread_of_a_warp_is_told() {
        for (body, expected) in [
            ("if (threadIdx.x % 32 == 0) { float w[4]; f(w); }", Some(32)),
            ("if ((threadIdx.x & 15) == 3 && n > 1) { float w[4]; f(w); }", Some(16)),
            ("const int lane = threadIdx.x % WARP; if (!lane) { for (;;) { float w[4]; f(w); } }", Some(32)),
            (
                "const int tid = threadIdx.x; int lane = tid & (WARP - 1); if (lane != 0) return; float w[4]; f(w);",
                Some(32),
            ),
            // Several threads, or none that is told.
            ("if (threadIdx.x % 32 < 2) { float w[4]; f(w); }", None),
            ("if (threadIdx.x % 32 != 0) { float w[4]; f(w); }", None),
            ("if (threadIdx.x % 32 == 0) { f(0); } else { float w[4]; f(w); }", None),
            ("if (threadIdx.x % 32 == 0 || n) { float w[4]; f(w); }", None),
            ("if ((threadIdx.x & 30) == 0) { float w[4]; f(w); }", None),
            ("if (threadIdx.x % n == 0) { float w[4]; f(w); }", None),
            ("if ((threadIdx.x + n) % 32 == 0) { float w[4]; f(w); }", None),
            ("if (threadIdx.x / 32 == 0) { float w[4]; f(w); }", None),
            ("if (threadIdx.y % 32 == 0) { float w[4]; f(w); }", None),
            ("if (threadIdx.x % 32 == 40) { float w[4]; f(w); }", None),
            ("int lane = threadIdx.x % 32; lane += n; if (lane == 0) { float w[4]; f(w); }", None),
            ("int tid = threadIdx.x; tid = n; if (tid % 32 == 0) { float w[4]; f(w); }", None),
            ("float w[4]; if (threadIdx.x % 32 == 0) f(w);", None),
            (
                "auto t = cg::tiled_partition<16>(cg::this_thread_block()); if (t.thread_rank() == 3) { float w[4]; f(w); }",
                Some(16),
            ),
            (
                "auto t = cg::tiled_partition<16>(cg::this_thread_block()); if (t.thread_rank() < 2) { float w[4]; f(w); }",
                None,
            ),
            (
                "auto t = cg::tiled_partition<16>(cg::this_thread_block()); if (t.thread_rank() == 16) { float w[4]; f(w); }",
                None,
            ),
        ] {
            assert_eq!(leaders(body), (expected, false), "{body}");
        }
        assert_eq!(leaders("if (threadIdx.x == 0) { float w[4]; f(w); }"), (None, true));
    }
}
