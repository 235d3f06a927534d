//! Queries on the syntax tree: nodes at a line and column, variables in a region, declarations.
//!
//! The tree is of the text before macro expansion. Where it cannot answer, it gives no answer.

pub mod access_path;
mod aliases;
mod attributes;
mod both_branches;
mod bounds;
mod call_syntax;
mod calls;
mod casts;
mod constants;
mod construction;
mod counters;
mod declarations;
mod edits;
pub mod example;
mod expanded;
mod functions;
mod head_macro;
mod index;
pub mod line_marks;
mod line_syntax;
mod list_directives;
mod long_lists;
mod loops;
mod macro_heads;
mod meaning;
mod mentions;
mod moving_loops;
mod place;
mod region;
pub mod role;
mod settled;
mod skipped;
pub mod syntax_tree;
mod volatile;
mod words;

use std::any::{Any, TypeId};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use self::aliases::Assignment;

pub use self::access_path::{access_path, element};
pub use self::call_syntax::{CallSyntax, MemberSyntax, base_name};
pub use self::calls::{Passed, argument_of, is_callee, last_name};
pub use self::counters::{CounterSyntax, Walk};
pub use self::declarations::{Declaration, DeclarationKind, Declarations, resolve};
pub use self::expanded::{Expanded, ExpandedUse};
pub use self::functions::{BoundsPlace, FunctionSyntax, ParameterSyntax, enclosing_function, first_statement};
pub use self::loops::{LoopSyntax, is_loop};
pub use self::mentions::Mention;
pub use self::place::{Place, Places};
pub use self::region::is_separate_block;
pub use self::role::role;
pub use self::volatile::Volatility;

/// Cached answers, which depend on the text alone. Many accesses ask the same questions.
#[derive(Default)]
pub struct Memory {
    /// Keyed by the function's byte range.
    declarations: RefCell<HashMap<(usize, usize), Rc<Declarations>>>,
    /// Keyed by the function's start.
    unsized_declarations: RefCell<HashMap<usize, Rc<Declarations>>>,
    /// Launch bounds, with the names of their functions.
    bounds: OnceCell<Vec<(String, Range<usize>)>>,
    pub(crate) words: OnceCell<HashSet<String>>,
    outer_names: OnceCell<HashMap<String, Vec<constants::OuterName>>>,
    /// Numbers of the nodes.
    macro_definitions: OnceCell<Vec<usize>>,
    /// Keyed by the region's byte range.
    calls: Answers<(usize, usize), (String, Range<usize>)>,
    /// Keyed by the region's byte range.
    mentions: Answers<(usize, usize), Mention>,
    /// Keyed by the region's byte range.
    expanded: Answers<(usize, usize), Rc<expanded::Expanded>>,
    /// Keyed by the function's start.
    assignments: Answers<usize, Assignment>,
    /// Numbers of the nodes, keyed by offset.
    regions: Answers<usize, usize>,
    /// Keyed by offset.
    parameters: RefCell<HashMap<usize, Option<Rc<[String]>>>>,
    /// Keyed by offset.
    pub(crate) counters: Answers<usize, CounterSyntax>,
    macro_loops: OnceCell<Vec<macro_heads::MacroLoop>>,
    /// Keyed by the number of the loop.
    conditional_steps: RefCell<HashMap<usize, Rc<HashSet<String>>>>,
    /// Whether the text declares a name.
    declared: RefCell<HashMap<String, bool>>,
    index: OnceCell<index::Index>,
    /// Keyed by the function's byte range.
    hidden: RefCell<HashMap<(usize, usize), HiddenIn>>,
    /// What others keep with the text.
    kept: RefCell<HashMap<TypeId, Rc<dyn Any>>>,
}

/// `None` where no edit can stand beside what is hidden.
type HiddenIn = Option<Rc<edits::HiddenPlaces>>;
type Answers<Question, Answer> = RefCell<HashMap<Question, Rc<[Answer]>>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::syntax_tree::SyntaxTree;

    const TEXT: &str = "#define N 4
constexpr int M = 8;
template <typename T, int W>
__global__ void __launch_bounds__(1024, 2) kernel(const float* in, State s, int n) {
  float window[W];
  float acc[N * M], other[2][3];
  for (int j = 0; j < n; ++j) {
    acc[j] = in[j];
    acc[s.key[j]] += window[3];
  }
  float* p = acc + 1;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) foo(p[k]);
  if (acc[n] > 2) { return; }
}
";

    pub fn tree() -> SyntaxTree {
        SyntaxTree::example("a.cu", TEXT)
    }

    pub fn mentions_at(line: u32, column: u32) -> Vec<(String, Option<String>, bool, bool)> {
        let tree = tree();
        let region = tree.region(tree.offset(line, column).unwrap()).unwrap();
        tree.mentions(region)
            .iter()
            .filter(|mention| mention.declaration.kind != DeclarationKind::Scalar)
            .map(|m| {
                (
                    m.declaration.name.clone(),
                    m.indices.first().map(|range| tree.text()[range.clone()].to_string()),
                    m.is_read,
                    m.is_written,
                )
            })
            .collect()
    }
}
