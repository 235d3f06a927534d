//! The size of a kernel's largest block, and how certain it is.
//!
//! An array with a part for each thread is too small for a larger block: threads would write beyond it. Launch bounds
//! are a limit that the hardware enforces. A launch shows one size, and a kernel with external linkage may be launched
//! by files that no run reads, so that its launches prove nothing.

use cuda_syntax::ast::Kind;
use cuda_syntax::tree::{BoundsPlace, base_name};
use cuda_syntax::{Launch, SyntaxTree};
use lmem_base::mangling::demangle;

use super::declaration::PrivateVariable;
use super::runners::Runners;
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
    /// All launches that there are, or the bounds of all kernels that run a function.
    AllLaunches,
    /// A launch, at this place; there may be larger ones elsewhere.
    Launch(String),
    /// The largest constant that the file mentions for a launch; nothing says that there are no larger ones.
    Mentioned,
    /// Nothing but habit.
    Usual,
}

impl Block {
    /// The largest block of a variable's kernel. For a function that several kernels may call, and where nothing tells
    /// it, a usual size that `fits`.
    pub fn of(
        cx: &LintContext<'_>,
        variable: &PrivateVariable,
        runners: &Runners<'_>,
        fits: &dyn Fn(u32) -> bool,
    ) -> Option<Self> {
        let known = match variable.is_of_kernel {
            true => Self::of_launch_bounds(cx, variable).or_else(|| Self::of_launches(cx, variable)),
            false => Self::of_all_runners(cx, variable, runners).or_else(|| Self::of_largest(cx, runners)),
        };
        let mentioned = || {
            let threads = cx.unit.launches().mentioned(&cx.frame.name).filter(|_| variable.is_of_kernel)?;
            Some(Self { threads, text: threads.to_string(), origin: Origin::Mentioned })
        };
        known.or_else(mentioned).or_else(|| {
            let threads = USUAL_THREADS.into_iter().find(|threads| fits(*threads))?;
            Some(Self { threads, text: threads.to_string(), origin: Origin::Usual })
        })
    }

    /// The first threads of a one-dimensional block, where no others run a variable's code.
    pub fn of_first(threads: u32) -> Self {
        Self { threads, text: threads.to_string(), origin: Origin::Bounds }
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
        // A name may mean another constant in a function that the kernel calls.
        let value = variable.tree.evaluate(text, variable.offset);
        let is_it = variable.can_spell(text) && value.is_none_or(|value| value == i64::from(threads));
        is_it.then(|| Self { threads, text: text.to_string(), origin: Origin::Bounds })
    }

    /// The largest block of all kernels that run the variable's function, if no others can, and all have the same.
    fn of_all_runners(cx: &LintContext<'_>, variable: &PrivateVariable, runners: &Runners<'_>) -> Option<Self> {
        let mut blocks = runners.kernels.iter().map(|kernel| certain(cx, variable, &kernel.name));
        let (threads, text) = blocks.next().filter(|_| runners.are_all)??;
        let is_same = blocks.all(|block| block.is_some_and(|(other, spelled)| other == threads && spelled == text));
        is_same.then_some(Self { threads, text, origin: Origin::AllLaunches })
    }

    /// The largest launch that the unit shows of a kernel that runs the variable's function. Other files may have larger ones.
    fn of_largest(cx: &LintContext<'_>, runners: &Runners<'_>) -> Option<Self> {
        let names: Vec<String> = runners.kernels.iter().map(|kernel| demangle(&kernel.name)).collect();
        let launches = names.iter().filter_map(|name| cx.unit.launches().largest(name));
        let launch = launches.max_by_key(|launch| launch.threads)?;
        Some(Self {
            threads: launch.threads,
            text: launch.threads.to_string(),
            origin: Origin::Launch(place_of(launch)),
        })
    }

    /// The largest of the launches that the unit shows.
    fn of_launches(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<Self> {
        let function = cx.unit.function(&cx.frame.mangled)?;
        let launch =
            cx.unit.launch(cx.frame).filter(|_| function.max_threads.or(function.required_threads).is_none())?;
        let written = launch.block_text();
        let is_spelled = written.parse() == Ok(launch.threads) || variable.is_constant_of(written, launch.threads);
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
        // Names may mean other constants at the launch.
        (launch.block == [columns, rows, 1]).then_some(rows)
    };
    launches.iter().map(rows).collect::<Option<Vec<u32>>>()?.into_iter().max()
}

/// The largest block of a kernel, and its text: of launch bounds or of all launches, if they are numbers or constants that
/// are known where the variable is.
fn certain(cx: &LintContext<'_>, variable: &PrivateVariable, mangled: &str) -> Option<(u32, String)> {
    let demangled = demangle(mangled);
    let name = base_name(&demangled);
    let function = cx.unit.function(mangled)?;
    if let Some(threads) = function.max_thread_count() {
        let text = bounds_of(&variable.tree, name)?;
        return match is_literal(&text) {
            true => Some((threads, threads.to_string())),
            false => Some((threads, text)).filter(|(_, text)| variable.is_constant_of(text, threads)),
        };
    }
    let launches = cx.unit.launches().all(name).filter(|_| cx.unit.has_all_launches_of(name))?;
    let are_literal = launches.iter().all(|launch| is_literal(launch.block_text()));
    let threads = launches.iter().map(|launch| launch.threads).max().filter(|_| are_literal)?;
    Some((threads, threads.to_string()))
}

/// The first argument of the launch bounds of the only kernel of that name.
fn bounds_of(tree: &SyntaxTree, name: &str) -> Option<String> {
    let functions = tree.nodes_of(&[Kind::FunctionDefinition]);
    let mut kernels = functions.filter_map(|node| {
        let function = tree.function_at(node.start_byte())?;
        let is_it = tree.text().get(function.name.clone()) == Some(name);
        (is_it && tree.is_within_kernel(node.end_byte().saturating_sub(1))).then_some(function)
    });
    let function = kernels.next().filter(|function| function.bounds_place == BoundsPlace::Head)?;
    let bounds = tree.text().get(function.launch_bounds?)?;
    let arguments = bounds.split_once('(')?.1.trim_end().strip_suffix(')')?;
    let text = split_at_commas(arguments).first()?.trim().to_string();
    kernels.next().is_none().then_some(text)
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
    fn bounds_are_those_of_the_only_kernel_of_a_name() {
        let text = "constexpr int B = 64;
__global__ void __launch_bounds__(128) a(int *p) { p[0] = 1; }
static __global__ void __launch_bounds__(B, 2) b(int *p) { p[0] = 1; }
__global__ void c(int *p) { p[0] = 1; }
namespace n { __global__ void __launch_bounds__(32) d(int *p) { p[0] = 1; } }
namespace m { __global__ void __launch_bounds__(64) d(int *p) { p[0] = 1; } }
";
        let tree = SyntaxTree::example("a.cu", text);
        let bounds = ["a", "b", "c", "d"].map(|name| bounds_of(&tree, name));
        assert_eq!(bounds, [Some("128".to_string()), Some("B".to_string()), None, None]);
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
