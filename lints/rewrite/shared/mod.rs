//! A private variable in shared memory, with a place for each thread of the largest block: an array as `[element][thread]`,
//! a column each; what is used as a whole as a row each.

mod alignment;
mod columns;
pub mod declaration;
mod rows;
pub mod spilling;

use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::gpu::DECLARED_SHARED;
use lmem_base::words::bytes;
use lmem_frame::{EscapeKind, StackObject};
use nv_code::PtxFunction;
use ptx_syntax::{Operand, SpecialRegister};

use self::declaration::{BlockThreads, PrivateVariable, private_variable};
use super::Rewrite;
use super::facts::text::split_at_commas;
use crate::framework::LintContext;

/// Threads of a block as a thread counts them, by the axes that they lie along.
const OWN_COLUMNS: [&str; 3] = [
    "threadIdx.x",
    "threadIdx.y * blockDim.x + threadIdx.x",
    "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x",
];

/// Bytes of a row that make its length odd, for the usual types.
const ROW_GAP: u64 = 8;

/// Threads of a block that are tried where nothing tells how many there are, the usual number first.
const USUAL_THREADS: [u32; 3] = [256, 128, 64];

/// How large blocks are at most.
struct Block {
    threads: u32,
    /// As the source writes it.
    text: String,
    /// The kernel itself does not say it.
    is_launched: bool,
}

/// How the variables of all threads lie beside each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Free of conflicts however threads index them, but there must be nothing but elements.
    Columns,
    Rows,
}

/// Moves the variable to shared memory: `float window[32]` becomes `__shared__ float window_of_block[32][256]`, where a block has room. Where
/// neither launch bounds nor launches give the block size, the edit has a usual size as a placeholder.
pub fn suggestion(cx: &LintContext<'_>, object: &StackObject) -> Option<Suggestion> {
    let variable = own_variable(cx, object)?;
    let layouts = [Layout::Columns, Layout::Rows];
    layouts.into_iter().find_map(|layout| keep_laid_out(cx, object, &variable, layout))
}

fn keep_laid_out(
    cx: &LintContext<'_>,
    object: &StackObject,
    variable: &PrivateVariable,
    layout: Layout,
) -> Option<Suggestion> {
    // A row is the whole of what `ring.slot` is a member of.
    let name = object.variable.as_ref()?.name.split('.').next()?;
    // Other kernels may call a function that this one does.
    let known = match variable.is_of_kernel {
        true => of_launch_bounds(cx, variable).or_else(|| of_launches(cx, variable)),
        false => None,
    };
    let is_known = known.is_some();
    let block = match known {
        Some(block) => block,
        None => of_usual_size(cx, object, layout)?,
    };
    let threads = block.threads;
    let size = room_for(cx, object, threads, layout)?;
    let edits = edits(cx, object, variable, &block, layout)?;
    let (title, applicability) = match (layout, is_known) {
        (Layout::Columns, true) => {
            (format!("{} per block of {threads} threads", room(size)), Applicability::MaybeIncorrect)
        }
        (Layout::Rows, true) => {
            (format!("one row per thread, {threads} threads per block"), Applicability::MaybeIncorrect)
        }
        (Layout::Columns, false) => (format!("{} per {threads} threads", room(size)), Applicability::HasPlaceholders),
        (Layout::Rows, false) => ("one row per thread".to_string(), Applicability::HasPlaceholders),
    };
    let open = if is_known { String::new() } else { format!("; replace {threads} by your block size") };
    let title = format!("move `{name}` to shared memory ({title}){open}");
    let rewrite = Rewrite::new(applicability, edits).within_kernel(variable.is_of_kernel);
    Some(rewrite.threads(block.is_launched.then_some(threads)).suggestion(title))
}

/// The variable, where it is part of the kernel's own frame, and no pointer to it is left behind.
fn own_variable(cx: &LintContext<'_>, object: &StackObject) -> Option<PrivateVariable> {
    let is_own = cx.frame.is_entry && object.function.is_none();
    let is_kept = object.escapes().iter().all(|escape| !matches!(escape.kind, EscapeKind::Stored));
    private_variable(object).filter(|_| is_own && is_kept)
}

/// Bytes of all variables, where a block has room for them.
fn room_for(cx: &LintContext<'_>, object: &StackObject, threads: u32, layout: Layout) -> Option<u64> {
    let variable = object.variable.as_ref()?;
    let gap = if layout == Layout::Rows { ROW_GAP } else { 0 };
    let size = (variable.bytes.unwrap_or(0).max(object.bytes - object.padding) + gap) * u64::from(threads);
    let added = cx.unit.launches().dynamic_shared(&cx.frame.name)?;
    (size + cx.frame.usage.shared + added <= DECLARED_SHARED && !has_dynamic_shared_memory(cx)).then_some(size)
}

fn edits(
    cx: &LintContext<'_>,
    object: &StackObject,
    variable: &PrivateVariable,
    block: &Block,
    layout: Layout,
) -> Option<Vec<Edit>> {
    let threads = BlockThreads { count: &block.text, own: OWN_COLUMNS[axes(cx, variable.is_of_kernel)? - 1] };
    // The arguments are the kernel's.
    let parameters = if variable.is_of_kernel { variable.template_parameters() } else { Vec::new() };
    let arguments = template_arguments(&cx.frame.name);
    let argument = |name: &str| {
        let position = parameters.iter().position(|parameter| parameter == name)?;
        arguments.get(position).map(|argument| (*argument).to_string())
    };
    match layout {
        Layout::Columns => variable.columns(&threads, &argument).filter(|_| object.escapes().is_empty()),
        Layout::Rows => variable.rows(object, &threads, &argument),
    }
}

/// The first argument of `__launch_bounds__(256, 2)`: no launch may have more threads.
fn of_launch_bounds(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<Block> {
    let threads = cx.unit.function(&cx.frame.mangled)?.max_thread_count()?;
    let bounds = cx.frame.launch_bounds.span.as_ref()?.text();
    let arguments = bounds.split_once('(')?.1.strip_suffix(')')?;
    let text = split_at_commas(arguments).first()?.trim();
    variable.can_spell(text).then(|| Block { threads, text: text.to_string(), is_launched: false })
}

/// The largest of all launches, where the unit shows them.
fn of_launches(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<Block> {
    let function = cx.unit.function(&cx.frame.mangled)?;
    let launch = cx.unit.launch(cx.frame).filter(|_| function.max_threads.or(function.required_threads).is_none())?;
    let is_number = launch.block_text().parse() == Ok(launch.threads);
    let text = match is_number || variable.is_known_constant(launch.block_text()) {
        true => launch.block_text().to_string(),
        false => launch.threads.to_string(),
    };
    Some(Block { threads: launch.threads, text, is_launched: true })
}

/// The largest of the usual sizes that there is room for.
fn of_usual_size(cx: &LintContext<'_>, object: &StackObject, layout: Layout) -> Option<Block> {
    let threads = USUAL_THREADS.into_iter().find(|threads| room_for(cx, object, *threads, layout).is_some())?;
    Some(Block { threads, text: threads.to_string(), is_launched: true })
}

/// How many axes the threads of a block lie along: by the code of the kernel, or of all kernels, and of what they may call,
/// and by the launches.
fn axes(cx: &LintContext<'_>, is_of_kernel: bool) -> Option<usize> {
    let launched = cx.unit.launches().axes(&cx.frame.name).unwrap_or(1);
    let kernel = cx.unit.function(&cx.frame.mangled)?;
    let is_asked = |function: &&PtxFunction| !function.is_entry || !is_of_kernel || function.name == kernel.name;
    let functions = cx.unit.facts.ptx.functions.iter().filter(is_asked);
    let mut operands = functions.flat_map(|function| &function.instructions).flat_map(|it| &it.operands);
    let used = operands.try_fold(1, |most, operand| match operand {
        Operand::Special(SpecialRegister::TidZ) => Err(3),
        Operand::Special(SpecialRegister::TidY) => Ok(2),
        _ => Ok(most),
    });
    Some(used.unwrap_or_else(|all| all).max(launched))
}

/// Whether the kernel uses memory whose size the launch tells: how much is left is not known then.
fn has_dynamic_shared_memory(cx: &LintContext<'_>) -> bool {
    let symbols = &cx.unit.facts.ptx.extern_shared;
    let functions = cx.unit.facts.ptx.functions.iter();
    functions
        .filter(|function| !function.is_entry || *function.name == *cx.frame.mangled)
        .any(|function| symbols.iter().any(|symbol| function.mentions(symbol)))
}

/// `float` and `32` of `scan<float, 32>`.
fn template_arguments(name: &str) -> Vec<&str> {
    let inner = name.split_once('<').and_then(|(_, rest)| rest.rsplit_once('>'));
    inner.map_or(Vec::new(), |(inner, _)| split_at_commas(inner).into_iter().map(str::trim).collect())
}

fn room(size: u64) -> String {
    match size % 1024 {
        0 => format!("{} KiB", size / 1024),
        _ => bytes(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_templates_are_told_apart() {
        assert_eq!(template_arguments("ns::scan<float, (int)32, Pair<int, 2>>"), ["float", "(int)32", "Pair<int, 2>"]);
        assert!(template_arguments("scan").is_empty());
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!((room(32 << 10), room(1000)), ("32 KiB".to_string(), "1000 B".to_string()));
    }
}
