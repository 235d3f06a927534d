//! An array is indexed by a value that is only known at run time.
//!
//! ## Why it costs
//! Registers have no addresses. One computed index is enough to move the whole array into local memory, where
//! every access is a load or a store. On an H200, when the threads of a warp use different indices, that costs
//! 9 times shared memory for 64 elements and 13 times for 128; with the same index in the whole warp about
//! twice, which arithmetic can hide.
//!
//! ## What to do
//! - Index with the counter of a loop that is unrolled, so that every access is a constant.
//! - Different indices in a warp: keep the array in shared memory as `[element][thread]`, or for up to 16
//!   elements select without an index: `if (j == k) a[j] += v;` for all `j`, with `#pragma unroll`.
//! - An array that is only read with such an index stays in the cache: selects of more than 8 elements take longer there.
//! - The same index in the whole warp: shared memory, or leave it where arithmetic hides it. A chain of
//!   selects is slower than local memory there from 8 elements up.
//!
//! ## Example
//! Before:
//! ```cpp
//! unsigned count[16];
//! count[in[i] >> 4]++;
//! ```
//! After:
//! ```cpp
//! const auto count_index = in[i] >> 4;
//! #pragma unroll
//! for (int k = 0; k < 16; ++k) if (k == count_index) count[k]++;
//! ```
//!
//! ## Fix safety
//! A loop over all elements that starts at some element of a ring is turned into one that visits them in their own order,
//! where each round only adds to sums or writes elements of its own. Sums of floating-point numbers may then differ in their
//! last digits, so that the programmer must judge.
//!
//! Where all accesses with a computed index can be edited, the edit selects the element. Index and value are evaluated
//! once, and only where nothing in the statement can change them before. It may be incorrect all the same where something
//! that the source does not show depends on the order, and for an index outside of the array, which was undefined: nothing
//! is written then.
//!
//! Shared memory in place of a kernel's own variable is suggested where launch bounds or all launches tell how large a block
//! is; for a variable of a `__device__` function the size is always yours to write, as other kernels may call it. Each thread keeps to its own part, so that nothing is to be synchronised: where every use is an element, that is a
//! column; what methods and functions work on as a whole becomes a row that is used under the same name. The programmer must
//! judge: a larger launch would overwrite what lies behind, and fewer blocks may run at a time. Where nothing tells the block
//! size, the edit has a usual one that must be replaced. All other ways out are advice.
//!
//! ## When it is wrong
//! A uniform index costs little where arithmetic hides the loads, and an array that few threads reach costs nothing: `allow` it
//! there. Whether an index is uniform is read from the PTX; an index that is loaded counts as divergent, though the data may agree.
//!
//! ## Related lints
//! `rolled_loop`, `constant_table`, `vector_reinterpret`, `large_array`

use lmem_base::diagnostic::{Applicability, Suggestion, Uniformity};
use lmem_base::edit::{are_apart, conflict};
use lmem_base::level::Level;
use lmem_frame::{Access, Address, StackObject, StackObjectKind};
use nv_code::dataflow::Sources;

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop, origin};
use crate::rewrite::ForLoop;
use crate::rewrite::rotation::{Rotations, rotations};
use crate::rewrite::selection::{Form, selection};
use crate::suggest;
use crate::suggest::Unrolled;

pub(crate) static LINT: Lint = Lint {
    name: "dynamic_index",
    level: Level::Warn,
    source: include_str!("dynamic_index.rs"),
    check: Check::Object(check),
};

/// A chain of selects beats local memory up to this many elements, when the index differs from thread to thread.
const SELECT_ELEMENTS: u64 = 16;
/// Up to here it is as fast.
const MOST_ELEMENTS: u64 = 32;
/// The same for an array that is only read with such an index: it stays in the cache. On an H200 a loop of reads from 16
/// elements took 0.228 ms, and 0.542 ms with selects.
const READ_ELEMENTS: u64 = 8;
/// The same for an index that is the same in the whole warp.
const UNIFORM_ELEMENTS: u64 = 4;

/// How elements are written, in the order in which that is tried.
const FORMS: [Form; 2] = [Form::Branch, Form::Select];

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let own = object.accesses.iter().filter(|access| is_variable && !access.in_callee);
    let guilty = own.max_by_key(|access| access.guilt())?;
    let Address::Computed(sources) = &guilty.address else { return None };
    let finding = in_local_memory(object, Some(guilty), "dynamically indexed");
    let finding = finding.access(object, guilty, in_loop(&origin(sources), guilty));
    let finding = finding.help(advice(object, guilty, sources));
    // Shared memory is as fast as selects for few elements, and faster for more; but not for a block of unknown size.
    let (shared, of_some_block) = match suggest::keep_in_shared_memory(cx, object) {
        Some(suggestion) if suggestion.applicability == Applicability::HasPlaceholders => (None, Some(suggestion)),
        suggestion => (suggestion, None),
    };
    let finding = match rotations(object) {
        Some(rotations) => {
            FORMS.iter().fold(finding, |finding, form| finding.suggest(visit_in_order(object, &rotations, *form)))
        }
        None => finding,
    };
    // Where variables share memory, the machine code does not tell what is constant.
    let finding = finding.suggest(suggest::declare_with_values(object)).suggest(suggest::select_lanes(object));
    let finding = FORMS.iter().fold(finding.suggest(shared), |finding, form| finding.suggest(select(object, *form)));
    Some(finding.suggest(of_some_block))
}

/// Accesses of all elements, of which one is chosen, in place of all accesses with a computed index; loops over the array
/// are unrolled with them, since one index that is no constant is enough to keep all of it in memory.
fn select(object: &StackObject, form: Form) -> Option<Suggestion> {
    let selection = selection(object, form, &[])?;
    // Without an access that writes, the forms are one.
    let limit = match selection.has_writes {
        _ if is_walked_deeper(object) => MOST_ELEMENTS,
        true => limit(object),
        false => limit(object).min(READ_ELEMENTS),
    };
    let is_worth = selection.elements.is_some_and(|elements| elements <= limit);
    if !is_worth || (form == Form::Select && !selection.has_writes) {
        return None;
    }
    let unrolled = Unrolled::of(object)?;
    let is_apart = |edit| selection.edits.iter().all(|other| !conflict(edit, other));
    let is_within_kernel = selection.is_within_kernel && unrolled.loops.iter().all(ForLoop::is_within_kernel);
    if !unrolled.edits.iter().all(is_apart) {
        return None;
    }
    let title = match unrolled.edits.is_empty() {
        true => "replace the dynamic index by an unrolled select",
        false => "replace the dynamic index by an unrolled select, and unroll the loops over the array",
    };
    let keeps_loops = unrolled.edits.is_empty();
    let mut edits = selection.edits;
    edits.extend(unrolled.edits);
    edits.sort();
    let suggestion = Suggestion::new(title, Applicability::MaybeIncorrect, edits).rounds(unrolled.rounds);
    Some(suggestion.keeping_loops(keeps_loops).within_kernel(is_within_kernel))
}

/// Whether loops over the elements go round more often than any element is chosen: all of their accesses are saved for one
/// select.
fn is_walked_deeper(object: &StackObject) -> bool {
    let deepest = |is_wanted: &dyn Fn(&Address) -> bool| {
        let accesses = object.accesses.iter().filter(|access| is_wanted(&access.address));
        accesses.map(|access| access.loop_depth).max()
    };
    let chosen = deepest(&|address| matches!(address, Address::Computed(_)));
    deepest(&|address| matches!(address, Address::Counter(_))) > chosen
}

fn is_floating(type_text: &str) -> bool {
    ["float", "double", "half", "__half", "__nv_bfloat16", "nv_bfloat16"].iter().any(|name| type_text.starts_with(name))
}

/// Loops that visit all elements from some element on, in the order of the elements; what is left with a computed index
/// selects its element.
fn visit_in_order(object: &StackObject, rotations: &Rotations, form: Form) -> Option<Suggestion> {
    let selection = selection(object, form, &rotations.loops)?;
    // Each of the loops saves an access to every element, so that a select of one costs no more than it.
    let is_worth = selection.edits.is_empty() || selection.elements.is_some_and(|elements| elements <= MOST_ELEMENTS);
    if !is_worth || (form == Form::Select && !selection.has_writes) {
        return None;
    }
    let unrolled = Unrolled::of(object)?;
    let is_within_kernel = rotations.is_within_kernel
        && selection.is_within_kernel
        && unrolled.loops.iter().all(ForLoop::is_within_kernel);
    let title = match selection.edits.is_empty() {
        true => "iterate in storage order and unroll",
        false => "iterate in storage order and unroll, and select the single element",
    };
    let rounds_anew = object.variable.as_ref().is_some_and(|variable| is_floating(&variable.type_text));
    let title = format!("{title}{}", if rounds_anew { ", which sums in another order" } else { "" });
    let mut edits = rotations.edits.clone();
    edits.extend(selection.edits);
    edits.extend(unrolled.edits);
    edits.sort();
    edits.dedup();
    let is_apart = are_apart(&edits);
    let suggestion = Suggestion::new(title, Applicability::MaybeIncorrect, edits);
    is_apart.then(|| suggestion.rounds(rotations.rounds.max(unrolled.rounds)).within_kernel(is_within_kernel))
}

/// How many elements a chain of selects may have that is not slower than local memory.
fn limit(object: &StackObject) -> u64 {
    let sources = object.accesses.iter().filter_map(|access| match &access.address {
        Address::Computed(sources) => Some(sources.uniformity()),
        _ => None,
    });
    let is_uniform = |uniformity| uniformity == Some(Uniformity::Uniform);
    match sources.fold((true, true), |(all, known), it| (all && is_uniform(it), known && it.is_some())) {
        (true, _) => UNIFORM_ELEMENTS,
        (false, true) => MOST_ELEMENTS,
        (false, false) => SELECT_ELEMENTS,
    }
}

fn advice(object: &StackObject, guilty: &Access, sources: &Sources) -> String {
    // What is left of a loop's counter and constants is a modulo: the elements in another order.
    let is_rotation = sources.counter && !sources.is_data() && guilty.copying_call().is_none();
    let is_selectable = object.elements().is_some_and(|elements| elements <= SELECT_ELEMENTS);
    match sources.uniformity() {
        _ if is_rotation => {
            "index with the loop counter alone and unroll, if the loop visits all elements anyway".to_string()
        }
        Some(Uniformity::PerThread) if is_selectable => {
            "replace the dynamic index by an unrolled select, or move the array to shared memory".to_string()
        }
        Some(Uniformity::Uniform) => {
            "make the index a constant (unroll, or `switch` around the loop); a uniform index costs little".to_string()
        }
        _ => "move the array to shared memory as `[element][thread]`, or make the index a constant".to_string(),
    }
}
