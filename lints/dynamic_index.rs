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

use lmem_base::diagnostic::{Applicability, Uniformity};
use lmem_base::level::Level;
use lmem_frame::{Access, Address, StackObject, StackObjectKind};
use nv_code::dataflow::Provenance;

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop, origin};
use crate::rewrite::select::{FORMS, worth::SELECT_ELEMENTS};
use crate::rewrite::{component, ring_order, select, shared, static_table};

pub(crate) static LINT: Lint = Lint {
    name: "dynamic_index",
    level: Level::Warn,
    source: include_str!("dynamic_index.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let own = object.accesses.iter().filter(|access| is_variable && !access.in_callee);
    let guilty = own.max_by_key(|access| access.guilt())?;
    let Address::Computed(sources) = &guilty.address else { return None };
    let finding = in_local_memory(object, Some(guilty), "dynamically indexed");
    let finding = finding.access(object, guilty, in_loop(&origin(sources), object, guilty));
    let finding = finding.help(advice(object, guilty, sources));
    // Shared memory is as fast as selects for few elements, and faster for more; but not for a block of unknown size.
    let (shared, of_some_block) = match shared::suggestion(cx, object) {
        Some(suggestion) if suggestion.applicability == Applicability::HasPlaceholders => (None, Some(suggestion)),
        suggestion => (suggestion, None),
    };
    let in_order = ring_order::suggestions(object).into_iter();
    let finding = in_order.fold(finding, |finding, suggestion| finding.suggest(Some(suggestion)));
    // Where variables share memory, the machine code does not tell what is constant.
    let finding = finding.suggest(static_table::suggestion(object)).suggest(component::suggestion(object));
    let finding =
        FORMS.iter().fold(finding.suggest(shared), |finding, form| finding.suggest(select::suggestion(object, *form)));
    Some(finding.suggest(of_some_block))
}

fn advice(object: &StackObject, guilty: &Access, sources: &Provenance) -> String {
    // What is left of a loop's counter and constants is a modulo: the elements in another order.
    let is_rotation = sources.induction && !sources.is_data() && object.copying_call(guilty).is_none();
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
