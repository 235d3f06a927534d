//! The size of a kernel's largest block, and how certain it is.
//!
//! An array with a part for each thread is too small for a larger block: threads would write beyond it. Launch bounds
//! are a limit that the hardware enforces. A launch shows one size, and a kernel with external linkage may be launched
//! by files that no run reads, so that its launches prove nothing.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{BoundsPlace, base_name, enclosing_function};
use cuda_syntax::{Launch, SyntaxTree};

use super::declaration::PrivateVariable;
use crate::framework::LintContext;
use crate::rewrite::facts::text::split_at_commas;

/// Block sizes to try if the size is unknown, the usual one first.
pub const USUAL_THREADS: [u32; 3] = [256, 128, 64];

/// The largest block of a kernel.
pub struct Block {
    pub threads: u32,
    /// The size in source syntax.
    pub text: String,
    pub origin: Origin,
}

/// Where a block size comes from.
pub enum Origin {
    /// Launch bounds: a larger block does not run.
    Bounds,
    /// All launches that there are.
    AllLaunches,
    /// A launch, at this place; there may be larger ones elsewhere.
    Launch(String),
    /// Nothing but habit.
    Usual,
}

impl Block {
    /// The largest block of a variable's kernel. For a function that several kernels may call, and where nothing tells
    /// it, a usual size that `fits`.
    pub fn of(cx: &LintContext<'_>, variable: &PrivateVariable, fits: &dyn Fn(u32) -> bool) -> Option<Self> {
        let known = match variable.is_of_kernel {
            true => Self::of_launch_bounds(cx, variable).or_else(|| Self::of_launches(cx, variable)),
            false => Self::of_only_caller(cx, variable),
        };
        known.or_else(|| {
            let threads = USUAL_THREADS.into_iter().find(|threads| fits(*threads))?;
            Some(Self { threads, text: threads.to_string(), origin: Origin::Usual })
        })
    }

    /// Whether no larger block can run.
    pub fn is_certain(&self) -> bool {
        matches!(self.origin, Origin::Bounds | Origin::AllLaunches)
    }

    /// The block size that the kernel itself does not state.
    pub fn assumed(&self) -> Option<u32> {
        (!matches!(self.origin, Origin::Bounds)).then_some(self.threads)
    }

    /// The first argument of `__launch_bounds__(256, 2)`, which no launch may exceed.
    fn of_launch_bounds(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<Self> {
        let threads = cx.unit.function(&cx.frame.mangled)?.max_thread_count()?;
        let bounds = Some(&cx.frame.launch_bounds).filter(|bounds| bounds.place != BoundsPlace::Elsewhere)?;
        let bounds = bounds.span.as_ref()?.text();
        let arguments = bounds.split_once('(')?.1.strip_suffix(')')?;
        let text = split_at_commas(arguments).first()?.trim();
        variable.can_spell(text).then(|| Self { threads, text: text.to_string(), origin: Origin::Bounds })
    }

    /// The largest launch of this kernel, if the file has no other that calls the variable's function. Other files may.
    fn of_only_caller(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<Self> {
        let launch = cx.unit.launch(cx.frame)?;
        let kernels = kernels_that_call(&variable.tree, enclosing_function(variable.tree.node_at(variable.offset)?)?);
        let is_only = matches!(kernels.as_slice(), [only] if only == base_name(&cx.frame.name));
        let origin = Origin::Launch(place_of(launch));
        is_only.then(|| Self { threads: launch.threads, text: launch.threads.to_string(), origin })
    }

    /// The largest of the launches that the unit shows.
    fn of_launches(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<Self> {
        let function = cx.unit.function(&cx.frame.mangled)?;
        let launch =
            cx.unit.launch(cx.frame).filter(|_| function.max_threads.or(function.required_threads).is_none())?;
        let written = launch.block_text();
        let is_spelled = written.parse() == Ok(launch.threads) || variable.is_known_constant(written);
        let text = if is_spelled { written.to_string() } else { launch.threads.to_string() };
        // Another build may give another value to a name, but then to that of the array as well.
        let is_fixed = match cx.unit.launches().all(&cx.frame.name)? {
            [_] => is_spelled || is_literal(written),
            all => all.iter().all(|launch| is_literal(launch.block_text())),
        };
        let origin = match is_fixed && cx.unit.has_all_launches(cx.frame) {
            true => Origin::AllLaunches,
            false => Origin::Launch(place_of(launch)),
        };
        Some(Self { threads: launch.threads, text, origin })
    }
}

/// The most rows that the two-dimensional blocks of a kernel have, if all its launches say that: `dim3(32, ROWS)`.
pub fn rows_of(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<u32> {
    let launches = cx.unit.launches().all(&cx.frame.name).filter(|_| cx.unit.has_all_launches(cx.frame))?;
    let rows = |launch: &Launch| {
        let written = launch.block_text();
        let inner = written.strip_prefix("dim3").unwrap_or(written).trim().strip_prefix(['(', '{'])?;
        let parts = split_at_commas(inner.strip_suffix([')', '}'])?);
        let [columns, rows] = parts.as_slice() else { return None };
        let value = |text: &str| {
            let text = text.trim();
            let is_known = text.parse::<u32>().is_ok() || variable.is_known_constant(text);
            variable.tree.evaluate(text, variable.offset).filter(|_| is_known).and_then(|it| u32::try_from(it).ok())
        };
        let (columns, rows) = (value(columns)?, value(rows)?);
        (columns.checked_mul(rows) == Some(launch.threads)).then_some(rows)
    };
    launches.iter().map(rows).collect::<Option<Vec<u32>>>()?.into_iter().max()
}

/// The names of the kernels of a file that call a function, directly or through others of the file.
fn kernels_that_call(tree: &SyntaxTree, function: Node<'_>) -> Vec<String> {
    let (mut open, mut known, mut kernels) = (vec![function], Vec::new(), Vec::new());
    while let Some(current) = open.pop() {
        let name = function_name(tree, current).to_string();
        if known.contains(&name) {
            continue;
        }
        let around = tree.nodes().filter(|node| is_name_of(tree, *node, &name)).filter_map(enclosing_function);
        open.extend(around.filter(|caller| *caller != current));
        if tree.is_within_kernel(current.end_byte().saturating_sub(1)) {
            kernels.push(name.clone());
        }
        known.push(name);
    }
    kernels
}

fn function_name<'t>(tree: &'t SyntaxTree, function: Node<'_>) -> &'t str {
    let declarator = function.field(Field::Declarator);
    declarator.map_or("", |declarator| base_name(tree.slice(declarator.declared_name())))
}

/// Whether a node is a whole name: of a function that is called, or of a method.
fn is_name_of(tree: &SyntaxTree, node: Node<'_>, name: &str) -> bool {
    matches!(node.kind(), Kind::Identifier | Kind::FieldIdentifier) && tree.slice(node) == name
}

/// Where a launch stands, for readers.
pub fn place_of(launch: &Launch) -> String {
    format!("{}:{}", launch.span.file.display, launch.span.start_line())
}

/// `128`, `dim3(16, 8)`, `{32, 4}`
fn is_literal(block: &str) -> bool {
    let numbers = block.strip_prefix("dim3").unwrap_or(block);
    numbers.chars().all(|c| c.is_ascii_digit() || " (){},".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_followed_to_their_kernels() {
        let text = "__device__ void inner(int *a) { a[0] = 1; }
__device__ void outer(int *a) { inner(a); }
__device__ void loop(int *a) { loop(a); }
__global__ void first(int *a) { outer(a); }
__global__ void second(int *a) { a[1] = 2; loop(a); }
__global__ void third(int *a) { inner(a); }
";
        let tree = SyntaxTree::example("a.cu", text);
        let callers = |name: &str| {
            let node = tree.node_at(text.find(&format!("void {name}(")).unwrap() + 5).unwrap();
            kernels_that_call(&tree, enclosing_function(node).unwrap())
        };
        assert_eq!(callers("loop"), ["second"]);
        assert_eq!(callers("outer"), ["first"]);
        let mut both = callers("inner");
        both.sort();
        assert_eq!(both, ["first", "third"]);
    }

    #[test]
    fn numbers_are_literals_and_names_are_not() {
        for block in ["128", "dim3(16, 8)", "dim3{64}", "{32, 4}"] {
            assert!(is_literal(block), "{block}");
        }
        for block in ["BLOCK", "dim3(BLOCK, 2)", "2 * kWarp"] {
            assert!(!is_literal(block), "{block}");
        }
    }
}
