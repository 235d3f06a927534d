//! Moves a private variable to shared memory, with a part for each thread of the largest block: an array as
//! `[element][thread]`, one column per thread; a variable used as a whole as one row per thread.

mod alignment;
mod axes;
mod block;
pub(super) mod columns;
pub mod declaration;
mod first_threads;
mod groups;
mod initial;
mod leaders;
mod residency;
mod room;
mod rows;
mod runners;
mod section;
pub mod spilling;

use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::gpu::WARP;
use lmem_base::source::Span;
use lmem_base::words::bytes;
use lmem_frame::{Address, EscapeKind, StackObject};

use self::axes::{asks_for_first_axis, axes, shows_one_axis};
pub use self::block::place_of;
use self::block::{Block, Origin, USUAL_THREADS};
use self::declaration::{BlockThreads, PrivateVariable, private_variable};
pub use self::residency::must_be_resident;
use self::room::Room;
use self::runners::Runners;
use super::Rewrite;
use super::facts::text::split_at_commas;
use crate::framework::LintContext;

/// Linear thread index in a block, by number of block dimensions.
const OWN_COLUMNS: [&str; 3] = [
    "threadIdx.x",
    "threadIdx.y * blockDim.x + threadIdx.x",
    "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x",
];

/// The memory layout of the variables of all threads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Free of bank conflicts for any index, but every use must be an element.
    Columns,
    Rows,
}

/// Moves the variable to shared memory if a block has room: `float window[32]` becomes
/// `__shared__ float window_of_block[32][256]`. If neither launch bounds nor launches give the block size, the edit has
/// a usual size as placeholder.
pub fn suggestion(cx: &LintContext<'_>, object: &StackObject) -> Option<Suggestion> {
    let variable = own_variable(cx, object).filter(|_| !must_be_resident(cx))?;
    // A thread has one place in shared memory, and each call that runs needs its own.
    if object.reentry(&cx.unit.reentries).is_some() {
        return None;
    }
    if variable.is_of_kernel && variable.is_of_one_thread(axes(cx, true)) {
        return keep_for_one_thread(cx, object, &variable, None);
    }
    if let Some(shown) = shows_one_thread(cx, &variable) {
        return keep_for_one_thread(cx, object, &variable, Some(&shown));
    }
    let runners = Runners::of(cx, Some(&variable));
    let room = Room::of(cx, &runners)?;
    if let Some(suggestion) = keep_for_leaders(cx, object, &variable, (&runners, &room)) {
        return Some(suggestion);
    }
    let layouts = [Layout::Columns, Layout::Rows];
    layouts.into_iter().find_map(|layout| keep_laid_out(cx, object, &variable, (&runners, &room), layout))
}

fn keep_laid_out(
    cx: &LintContext<'_>,
    object: &StackObject,
    variable: &PrivateVariable,
    (runners, free): (&Runners<'_>, &Room),
    layout: Layout,
) -> Option<Suggestion> {
    // A row holds the whole structure that `ring.slot` is a member of.
    let name = object.variable.as_ref()?.name.split('.').next()?;
    let bytes = whole_bytes(cx, object, variable)?;
    let fits = |threads: u32| free.for_variables(bytes, threads, layout).is_some();
    let block = Block::of(cx, variable, runners, &fits)?;
    // The first threads of the block, if no others run the code.
    let first = variable.first_threads().filter(|_| variable.is_of_kernel && axes(cx, true) == 1);
    let all = block.threads;
    let block = first.filter(|first| *first < all || !block.is_certain()).map_or(block, Block::of_first);
    let threads = block.threads;
    let size = free.for_variables(bytes, threads, layout)?;
    if is_stack(object) && takes_residents(cx, size, all) {
        return None;
    }
    let edits = edits(cx, object, variable, &block, layout)?;
    let of_threads = match (layout, block.is_certain()) {
        (Layout::Columns, true) if first == Some(threads) => {
            format!("{} per block: its first {threads} threads use it", room(size))
        }
        (Layout::Columns, true) => format!("{} per block of {threads} threads", room(size)),
        (Layout::Rows, true) if first == Some(threads) => {
            format!("one row for each of the first {threads} threads of a block")
        }
        (Layout::Rows, true) => format!("one row per thread, {threads} threads per block"),
        (Layout::Columns, false) => format!("{} per {threads} threads", room(size)),
        (Layout::Rows, false) => "one row per thread".to_string(),
    };
    let one_axis = match is_one_dimensional(cx, variable, &block) && axes(cx, true) > 1 {
        true => ", one-dimensional",
        false => "",
    };
    let (open, applicability) = match &block.origin {
        Origin::Bounds | Origin::AllLaunches => (String::new(), Applicability::MaybeIncorrect),
        Origin::Launch(place) => (
            format!("; replace {threads} by your largest block size ({threads} is from {place}{one_axis})"),
            Applicability::HasPlaceholders,
        ),
        Origin::Mentioned => (
            format!(
                "; replace {threads} by your largest block size ({threads} is the largest that this file mentions)"
            ),
            Applicability::HasPlaceholders,
        ),
        Origin::Usual => (format!("; replace {threads} by your block size"), Applicability::HasPlaceholders),
    };
    let title = format!("move `{name}` to shared memory ({of_threads}){open}");
    let rewrite = Rewrite::new(applicability, edits).within_kernel(variable.is_of_kernel);
    Some(rewrite.threads(block.assumed()).suggestion(title))
}

/// Whether the variable is a structure whose constructor has an effect, or default values. Shared memory runs none.
pub fn is_constructed(object: &StackObject) -> bool {
    private_variable(object).is_some_and(|variable| variable.is_constructed())
}

/// Whether the variable is an array whose elements have constructors with an effect, or default values.
pub fn has_constructed_elements(object: &StackObject) -> bool {
    private_variable(object).is_some_and(|variable| variable.has_constructed_elements())
}

/// Whether shared memory has room for a variable of each thread, beside what the kernels that run its function take.
pub fn has_room(cx: &LintContext<'_>, object: &StackObject) -> bool {
    let Some(room) = Room::of(cx, &Runners::of(cx, private_variable(object).as_ref())) else { return false };
    let bound = cx.unit.function(&cx.frame.mangled).and_then(|function| function.max_thread_count());
    let least = USUAL_THREADS.into_iter().min();
    bound.or(least).is_some_and(|threads| room.for_variables(object.bytes, threads, Layout::Columns).is_some())
}

/// What keeps a variable out of shared memory, beside the way in which it is used.
pub fn obstacle(cx: &LintContext<'_>, object: &StackObject) -> Option<String> {
    if !cx.frame.is_entry || object.function.is_some() {
        return Some("it is in the frame of a function that is not inlined".to_string());
    }
    if object.escapes().iter().any(|escape| matches!(escape.kind, EscapeKind::Stored | EscapeKind::Printed)) {
        return Some("a pointer to it is stored".to_string());
    }
    let variable = own_variable(cx, object)?;
    if must_be_resident(cx) {
        return Some("shared memory could keep blocks that wait for each other from being resident".to_string());
    }
    let runners = Runners::of(cx, Some(&variable));
    let Some(free) = Room::of(cx, &runners) else {
        return Some("it is not known how much dynamic shared memory the launches take".to_string());
    };
    let fits = |threads: u32| free.for_variables(object.bytes, threads, Layout::Columns).is_some();
    let threads = Block::of(cx, &variable, &runners, &fits).map(|block| block.threads);
    let threads = threads.or_else(|| USUAL_THREADS.into_iter().min()).filter(|threads| !fits(*threads))?;
    let beside = if free.taken() > 0 { format!(" beside the {} in use", room(free.taken())) } else { String::new() };
    let size = room(object.bytes.saturating_mul(u64::from(threads)));
    Some(format!("shared memory has no room for {size} ({threads} threads){beside}"))
}

/// Whether the variable is a stack that is better off in local memory, at every block size.
pub fn is_resident_stack(cx: &LintContext<'_>, object: &StackObject) -> bool {
    let bytes = own_variable(cx, object).filter(|_| is_stack(object)).and_then(|own| whole_bytes(cx, object, &own));
    bytes.is_some_and(|bytes| {
        USUAL_THREADS.into_iter().all(|threads| takes_residents(cx, bytes * u64::from(threads), threads))
    })
}

/// Whether all computed indices step up and down: `stack[top++]`, `stack[--top]`. The top of such a stack stays in L1.
fn is_stack(object: &StackObject) -> bool {
    let computed = object.accesses.iter().filter(|access| matches!(access.address, Address::Computed(_)));
    let texts: Vec<&str> = computed.filter_map(|access| access.index.as_ref()).map(Span::text).collect();
    let has = |operator: &str| texts.iter().any(|text| text.contains(operator));
    texts.iter().all(|text| text.contains("++") || text.contains("--")) && has("++") && has("--")
}

/// Whether fewer threads would be resident with that much shared memory per block. A stack of 32 entries in shared
/// memory ran at 0.77 of the speed that it had in local memory, with 13 blocks in place of 16.
fn takes_residents(cx: &LintContext<'_>, size: u64, threads: u32) -> bool {
    let gpu = cx.arch.gpu();
    let by_registers = gpu.registers / cx.frame.usage.registers.max(1);
    let residents = u64::from(by_registers.min(gpu.warps * WARP));
    let blocks = residents / u64::from(threads.max(1));
    blocks.saturating_mul(size + cx.frame.usage.shared + gpu.reserved_shared) > gpu.shared
}

/// What must hold for all launches, if one thread of a block alone uses the variable in all launches that the file shows.
/// Another file may launch blocks of more dimensions.
fn shows_one_thread(cx: &LintContext<'_>, variable: &PrivateVariable) -> Option<String> {
    let launches = cx.unit.launches();
    // Where the file does not show all launches, a kernel that asks for one axis is mostly launched with one.
    let is_of_first = || variable.is_of_kernel && variable.is_of_one_thread(1) && asks_for_first_axis(cx);
    let is_open = launches.axes(&cx.frame.name).is_none_or(|axes| axes == 1) && launches.all(&cx.frame.name).is_none();
    if is_open && is_of_first() {
        return Some("holds for one-dimensional blocks".to_string());
    }
    let axes = launches.axes(&cx.frame.name).filter(|_| launches.all(&cx.frame.name).is_some())?;
    let launch = cx.unit.launch(cx.frame)?;
    let blocks = ["one-dimensional blocks", "blocks of two dimensions", "blocks"].get(axes.checked_sub(1)?)?;
    let is_fit = variable.is_of_kernel && variable.is_of_one_thread(axes);
    is_fit.then(|| format!("holds for {blocks}, as at {}", place_of(launch)))
}

/// A variable that one thread of the block alone uses takes its own size of shared memory, and no block size is needed.
/// `shown`: what must hold for all launches, if there may be others than the file shows.
fn keep_for_one_thread(
    cx: &LintContext<'_>,
    object: &StackObject,
    variable: &PrivateVariable,
    shown: Option<&str>,
) -> Option<Suggestion> {
    let room_of_kernel = Room::of(cx, &Runners::of(cx, Some(variable)))?;
    let size = room_of_kernel.for_variables(whole_bytes(cx, object, variable)?, 1, Layout::Columns)?;
    let name = object.variable.as_ref()?.name.split('.').next()?;
    let edits = variable.for_one_thread(object, &argument_of(cx, variable))?;
    let (open, applicability) = match shown {
        Some(shown) => (format!("; {shown}"), Applicability::HasPlaceholders),
        None => (String::new(), Applicability::MaybeIncorrect),
    };
    let rewrite = Rewrite::new(applicability, edits).within_kernel(true);
    let title = format!("move `{name}` to shared memory ({} per block: one thread uses it){open}", room(size));
    Some(rewrite.suggestion(title))
}

/// An array that one thread of each warp, or of each row of the block, alone uses: a row for each of these threads.
fn keep_for_leaders(
    cx: &LintContext<'_>,
    object: &StackObject,
    variable: &PrivateVariable,
    (runners, free): (&Runners<'_>, &Room),
) -> Option<Suggestion> {
    if !variable.is_of_kernel {
        return None;
    }
    let (rows, own, leaders, threads) = match axes(cx, true) {
        1 => {
            let period = variable.threads_of_leader()?;
            let block = Block::of(cx, variable, runners, &|_| false).filter(Block::is_certain)?;
            let rows = block.threads.div_ceil(period);
            (rows, format!("threadIdx.x / {period}"), format!("one thread of {period}"), block.assumed())
        }
        2 if variable.is_of_leaders_of_rows() => {
            let launch = cx.unit.launch(cx.frame)?;
            let rows = block::rows_of(cx, variable)?;
            (rows, "threadIdx.y".to_string(), "one thread of each row".to_string(), Some(launch.threads))
        }
        _ => return None,
    };
    let size = free.for_variables(whole_bytes(cx, object, variable)?, rows, Layout::Columns)?;
    let name = object.variable.as_ref()?.name.split('.').next()?;
    let rows = BlockThreads { count: &rows.to_string(), own: &own };
    let edits = variable.rows_of_leaders(object, &rows, &argument_of(cx, variable))?;
    let rewrite = Rewrite::new(Applicability::MaybeIncorrect, edits).within_kernel(true).threads(threads);
    Some(rewrite.suggestion(format!("move `{name}` to shared memory ({} per block: {leaders} uses it)", room(size))))
}

/// The variable, if it is in the kernel's own frame and no pointer to it is stored.
fn own_variable(cx: &LintContext<'_>, object: &StackObject) -> Option<PrivateVariable> {
    let is_own = cx.frame.is_entry && object.function.is_none();
    let is_kept =
        object.escapes().iter().all(|escape| !matches!(escape.kind, EscapeKind::Stored | EscapeKind::Printed));
    private_variable(object).filter(|_| is_own && is_kept)
}

/// The size of a variable; that of the whole structure where the object is a member of one, `ring.slot`.
fn whole_bytes(cx: &LintContext<'_>, object: &StackObject, variable: &PrivateVariable) -> Option<u64> {
    let shown = object.variable.as_ref()?;
    let name = shown.name.split('.').next()?;
    // Where a template has several instances, that of this kernel counts.
    let function = variable.is_of_kernel.then_some(cx.frame.mangled.as_str());
    let line = u32::try_from(shown.span.start_line()).ok()?;
    let known = cx.unit.trees.front_end.variable(function, &shown.span.file.path, line, name);
    let of_object = || shown.bytes.unwrap_or(0).max(object.bytes - object.padding);
    Some(known.and_then(|variable| variable.bytes).unwrap_or_else(of_object)).filter(|bytes| *bytes > 0)
}

fn edits(
    cx: &LintContext<'_>,
    object: &StackObject,
    variable: &PrivateVariable,
    block: &Block,
    layout: Layout,
) -> Option<Vec<Edit>> {
    let axes = match is_one_dimensional(cx, variable, block) {
        true => 1,
        false => axes(cx, variable.is_of_kernel),
    };
    let threads = BlockThreads { count: &block.text, own: OWN_COLUMNS[axes - 1] };
    let argument = argument_of(cx, variable);
    match layout {
        Layout::Columns => variable.columns(&threads, &argument).filter(|_| object.escapes().is_empty()),
        Layout::Rows => variable.rows(object, whole_bytes(cx, object, variable)?, &threads, &argument),
    }
}

/// Whether an edit that is never written, as its reader has to fill in the largest block, may take blocks to have one
/// dimension.
fn is_one_dimensional(cx: &LintContext<'_>, variable: &PrivateVariable, block: &Block) -> bool {
    variable.is_of_kernel && !block.is_certain() && shows_one_axis(cx)
}

/// The arguments of the kernel's template parameters, for its own variables.
fn argument_of(cx: &LintContext<'_>, variable: &PrivateVariable) -> impl Fn(&str) -> Option<String> {
    let parameters = if variable.is_of_kernel { variable.template_parameters() } else { Vec::new() };
    let arguments: Vec<String> = template_arguments(&cx.frame.name).into_iter().map(str::to_string).collect();
    move |name: &str| {
        let position = parameters.iter().position(|parameter| parameter == name)?;
        arguments.get(position).cloned()
    }
}

/// `float` and `32` for `scan<float, 32>`.
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
