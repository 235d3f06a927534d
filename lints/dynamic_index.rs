//! An array is dynamically indexed.
//!
//! ## Why it costs
//! Registers have no addresses. One computed index is enough to put the whole array into local memory, where every
//! access is a load or a store. On an H200, a divergent index costs 9 times as much as shared memory for 64 elements,
//! and 13 times for 128. A uniform index costs about twice as much, which arithmetic can hide.
//!
//! ## What to do
//! - Index with the induction variable of an unrolled loop, so that every index is constant.
//! - Divergent index: keep the array in shared memory as `[element][thread]`. For up to 16 elements, select without an
//!   index: `if (j == k) a[j] += v;` for all `j`, with `#pragma unroll`.
//! - Flags (`bool seen[64]`): keep them as the bits of an integer.
//! - An array that is only read with such an index stays in the cache: selects of more than 8 elements are slower
//!   there.
//! - An index from a table of constants, `state[perm[i]]`: declare the table `const`, so that the compiler knows its values,
//!   and unroll the loop over it.
//! - Two buffers whose pointers a loop exchanges: copy the elements, or write two rounds of the loop, so that each access
//!   names its buffer.
//! - Uniform index: shared memory, or no change where arithmetic hides the cost. From 8 elements up, a chain of selects
//!   is slower than local memory.
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
//! A loop over all elements of a ring, starting at any element, is turned into one that visits them in storage order.
//! Each iteration may only add to sums, or write elements of its own, and the index must have the value of each element
//! once: an unsigned sum that may wrap around has not, unless the extent is a power of two. What it writes through a
//! pointer must not be what it reads through another one: one of the two is `__restrict__`. Floating-point sums may then
//! differ in their last digits, so the programmer must judge.
//!
//! If all accesses with a computed index can be edited, the edit selects the element. Index and value are evaluated
//! once, and only if nothing in the statement can change them before. An index that counts (`a[n++] = v`) comes behind the value that
//! is written, and the statement does nothing else where others may name what it counts. The edit may still be wrong if something not
//! visible in the source depends on the order. An index outside the array was undefined; now nothing is written. Of a flat
//! array, a row is selected only if the column stays within it. In a method, or in a helper that gets a reference, nothing but the chosen element is
//! written: the object may be one that other threads share. A call counts as an exchange only if the text shows that it is one.
//!
//! A loop that moves elements up until a comparison ends it, and stores behind, becomes a loop over all elements. It
//! evaluates comparisons, moves and stores as often as before and in the same order. It differs only if the loop began
//! beyond the array, which was undefined.
//!
//! Statements in a row that write one element are done for it in one loop if none changes the index, and what they declare is not used
//! behind them. The value of an element stands in a variable beside its index only if the index is set by whole statements, to numbers of
//! elements that are read there anyway, and if no element is written between that and any read; of a structure, if its copies are
//! plain. A copy becomes a reference only if
//! nothing is written before its last use, or nothing can write what it is of.
//!
//! A table becomes `const` only if each mention of its name in the unit reads an element in device code. One with external
//! linkage may be written by another file, and any by a file that includes its own: the programmer must judge, unless the
//! file has a `main`.
//!
//! Elements are copied in place of exchanging pointers only if nothing else leads to the buffers, and a loop before the
//! exchange writes all of the next buffer before it reads any.
//!
//! Flags become the bits of an integer, or of one for each row, only if every use is an element that is read or assigned, or a
//! `memset` of all to 0; each index is evaluated where and as often as before.
//!
//! Moving a kernel's own variable to shared memory needs the size of the largest block: launch bounds limit it, or the
//! kernel has internal linkage and its file all launches. Else you must fill in the size: the edit has that of a launch
//! in the file, or a usual one, and a larger block would write beyond the array. So it is for a variable of a
//! `__device__` function, unless all kernels that call it are in its file and have the same block. Dynamic shared memory
//! of launches must fit beside it, in 48 KiB: an edit with a size to fill in says how much. Each thread uses only its own
//! part, so no synchronization is needed. If every use is an element, the part is a column; a variable that methods and
//! functions use as a whole becomes a row with the same name, a structure or an instance of a template if its default
//! constructor does nothing, or if it has no destructor: each thread then constructs its object in its row. The
//! programmer must judge: fewer blocks may be resident. All other remedies are advice.
//!
//! ## When it is wrong
//! A uniform index costs little where arithmetic hides the loads, and an array that few threads reach costs nothing:
//! `allow` the lint there. Uniformity is read from the PTX. A loaded index counts as divergent, although the data may
//! be equal in all threads.
//!
//! ## Related lints
//! `rolled_loop`, `constant_table`, `vector_reinterpret`, `large_array`

use cuda_syntax::types;
use lmem_base::diagnostic::{Applicability, Uniformity};
use lmem_base::gpu::DECLARED_SHARED;
use lmem_base::level::Level;
use lmem_frame::{Access, Address, Reentry, StackObject, StackObjectKind};
use nv_code::dataflow::Provenance;

use crate::address_escape::is_printed;
use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop, origin};
use crate::large_array::{IN_PIECES, exceeds_registers};
use crate::rewrite::select::{FORMS, worth::SELECT_ELEMENTS};
use crate::rewrite::{
    bits, component, exchange, found_value, in_place, index_table, insertion, ring_order, select, shared, static_table,
    unroll, untried,
};

pub(crate) static LINT: Lint = Lint {
    name: "dynamic_index",
    level: Level::Warn,
    source: include_str!("dynamic_index.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let own = object.accesses.iter().filter(|access| is_variable && !access.in_callee);
    let guilty = own.clone().max_by_key(|access| access.guilt())?;
    let Address::Computed(sources) = &guilty.address else { return exchanged(object, own) };
    if is_printed(object) {
        return None;
    }
    let finding = in_local_memory(object, Some(guilty), "dynamically indexed");
    let finding = finding.access(object, guilty, in_loop(&origin(sources), object, guilty));
    let finding = also_walked(also_divergent(finding, own.clone(), sources), object, own, guilty);
    let finding = finding.help(advice(cx, object, guilty, sources));
    // For few elements, shared memory is as fast as selects, and for more it is faster. With an unknown block size,
    // selects are preferred.
    let (shared, of_some_block) = match shared::suggestion(cx, object) {
        Some(suggestion) if suggestion.applicability == Applicability::HasPlaceholders => (None, Some(suggestion)),
        suggestion => (suggestion, None),
    };
    let finding = finding.suggest(bits::suggestion(object)).suggest(in_place::suggestion(object));
    let finding = insertion::suggestions(object).into_iter().fold(finding, |finding, it| finding.suggest(Some(it)));
    let finding = found_value::suggestions(object).into_iter().fold(finding, |finding, it| finding.suggest(Some(it)));
    let in_order = ring_order::suggestions(object).into_iter();
    let finding = in_order.fold(finding, |finding, suggestion| finding.suggest(Some(suggestion)));
    // If variables share memory, the machine code does not tell which of them is constant.
    let finding = finding.suggest(static_table::suggestion(object)).suggest(component::suggestion(object));
    let finding = finding.suggest(index_table::suggestion(cx, object)).suggest(unroll::suggestion_for_walks(object));
    let finding =
        FORMS.iter().fold(finding.suggest(shared), |finding, form| finding.suggest(select::suggestion(object, *form)));
    Some(finding.suggest(of_some_block).or_untried(|| untried::reason(cx, object)))
}

/// If the index to blame is uniform and another one is not, says so: one word does not hold for both.
fn also_divergent<'o>(mut finding: Finding, own: impl Iterator<Item = &'o Access>, guilty: &Provenance) -> Finding {
    let told = |access: &Access| match &access.address {
        Address::Computed(sources) if sources.uniformity() == Some(Uniformity::PerThread) => Some(origin(sources)),
        _ => None,
    };
    let other = own.filter(|access| told(access).is_some()).max_by_key(|access| access.guilt());
    match other.filter(|_| guilty.uniformity() == Some(Uniformity::Uniform)) {
        Some(other) => {
            finding.uniformity = None;
            finding.label(other.index.as_ref().or(other.span.as_ref()), told(other).unwrap_or_default())
        }
        None => finding,
    }
}

/// Where loops over the array are nested deeper than the index to blame, they decide what it costs, and a constant index alone would
/// leave them.
fn also_walked<'o>(
    finding: Finding,
    object: &StackObject,
    own: impl Iterator<Item = &'o Access>,
    guilty: &Access,
) -> Finding {
    let is_deeper =
        |access: &&Access| matches!(access.address, Address::Induction(_)) && access.loop_depth > guilty.loop_depth;
    let walked = own.filter(is_deeper).max_by_key(|access| access.guilt());
    let found = walked.and_then(|access| object.source_loop(access));
    finding.label(found.as_ref().map(|found| &found.span), "walked by this loop, too")
}

/// Explains a variable that is only reached by constant offsets, from a pointer that is to it or to another variable.
fn exchanged<'o>(object: &StackObject, own: impl Iterator<Item = &'o Access>) -> Option<Finding> {
    let is_plain = object.escapes().is_empty() && object.accesses.iter().all(|it| !it.is_computed() && !it.is_volatile);
    let through = own.filter(|access| is_plain && access.choice.len() > 1);
    let access = through.max_by_key(|access| (access.loop_depth, access.count))?;
    let finding = in_local_memory(object, Some(access), "reached through a pointer to one of several variables");
    let finding =
        finding.access(object, access, in_loop("the pointer is to this or to another variable", object, access));
    Some(
        finding
            .help("name the variable: copy elements in place of exchanging pointers, or unroll the loop by two rounds")
            .suggest(exchange::suggestion(object)),
    )
}

/// Bits of the largest integer, and of a word.
const INTEGER_BITS: u64 = 64;
const WORD_BITS: u64 = 32;

/// What helps where neighbouring elements are accessed as one word.
const IN_ROWS: &str = "move the array to shared memory as `[thread][element]`, each row aligned for its widest access, or \
                       make the index a constant: words larger than an element are accessed";

/// Size of an array that is read by selects: each word of each element takes one. Elements of two words are usual.
const SELECT_BYTES: u64 = SELECT_ELEMENTS * 8;

/// Threads of a small block, for what a variable of each would take where no launch is known.
const USUAL_THREADS: u64 = 128;

fn advice(cx: &LintContext<'_>, object: &StackObject, guilty: &Access, sources: &Provenance) -> String {
    // Only a modulo is left of induction variable and constants: the loop visits the elements in rotated order.
    let has_data = || {
        let of = |access: &Access| matches!(&access.address, Address::Computed(sources) if sources.is_data());
        object.accesses.iter().any(of)
    };
    let is_rotation = sources.induction && !sources.is_data() && object.copying_call(guilty).is_none() && !has_data();
    let is_selectable = object.bytes - object.padding.min(object.bytes) <= SELECT_BYTES
        && object.elements().is_some_and(|elements| elements <= SELECT_ELEMENTS);
    if let Some(advice) = packed(object) {
        return advice;
    }
    // Shared memory would be that of all calls.
    let reentry = cx.reentry(object);
    let must_be_resident = shared::must_be_resident(cx);
    let has_room = !must_be_resident && shared::has_room(cx, object);
    let threads = cx.unit.launch(cx.frame).map_or(USUAL_THREADS, |launch| u64::from(launch.threads));
    match sources.uniformity() {
        _ if exceeds_registers(object.bytes) && reentry.is_some() => {
            "larger than the registers of a thread, whatever its indices are: process the data in pieces that fit, or use \
             smaller elements"
                .to_string()
        }
        _ if exceeds_registers(object.bytes) => IN_PIECES.to_string(),
        _ if is_rotation => {
            "index with the loop counter alone and unroll, if the loop visits all elements anyway".to_string()
        }
        Some(Uniformity::PerThread) if is_selectable && (reentry.is_some() || !has_room) => {
            "replace the dynamic index by an unrolled select".to_string()
        }
        Some(Uniformity::PerThread) if is_selectable && object.is_accessed_in_wider_words() => IN_ROWS.to_string(),
        Some(Uniformity::PerThread) if is_selectable && shared::has_constructed_elements(object) => {
            "replace the dynamic index by an unrolled select, or move the array to shared memory and set its initial values \
             there: constructors do not run, and default values are not set"
                .to_string()
        }
        Some(Uniformity::PerThread) if is_selectable => {
            "replace the dynamic index by an unrolled select, or move the array to shared memory".to_string()
        }
        _ if reentry == Some(Reentry::Recursion) => {
            "make the index a constant, or replace the recursion by a loop".to_string()
        }
        _ if reentry == Some(Reentry::IndirectCall) => {
            "make the index a constant: the function may be entered again through an indirect call, and each call needs \
             its own array"
                .to_string()
        }
        Some(Uniformity::Uniform) => {
            "make the index a constant (unroll, or `switch` around the loop)".to_string()
        }
        _ if shared::is_resident_stack(cx, object) => {
            "keep the stack shorter, or traverse without one: its top stays in L1, and shared memory for it would cost \
             occupancy"
                .to_string()
        }
        _ if shared::is_constructed(object) => {
            "move the member array alone to shared memory, as `[element][thread]`: constructors do not run there"
                .to_string()
        }
        _ if object.bytes.saturating_mul(threads) > DECLARED_SHARED => format!(
            "too large for shared memory ({} KiB per {threads} threads): share one array per block, use smaller \
             elements, or make the index a constant",
            (object.bytes.saturating_mul(threads)).div_ceil(1 << 10)
        ),
        _ if must_be_resident => {
            "make the index a constant: blocks may wait for each other, and with more shared memory fewer are resident"
                .to_string()
        }
        _ if !has_room => {
            "make the index a constant: the shared memory that the kernel uses or is launched with may leave no room for \
             one array per thread"
                .to_string()
        }
        _ if object.is_accessed_in_wider_words() => IN_ROWS.to_string(),
        _ if shared::has_constructed_elements(object) => {
            "move the array to shared memory as `[element][thread]` and set its initial values there, or make the index a \
             constant: constructors do not run in shared memory"
                .to_string()
        }
        _ => "move the array to shared memory as `[element][thread]`, or make the index a constant".to_string(),
    }
}

/// Advice for flags that are too many for the bits of one integer.
fn packed(object: &StackObject) -> Option<String> {
    let type_text = &object.variable.as_ref()?.type_text;
    let flags = types::extent(type_text).filter(|flags| type_text.starts_with("bool[") && *flags > INTEGER_BITS)?;
    Some(format!("pack the {flags} flags into {} words of bits, an eighth of the memory", flags.div_ceil(WORD_BITS)))
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;
    use lmem_base::source::{SourceFile, Span};
    use lmem_frame::{FrameObject, Variable};
    use nv_code::UnitFacts;

    use super::*;

    #[test]
    fn many_flags_are_packed() {
        let example = Example::new("");
        let (trees, facts) = (example.trees(), UnitFacts::default());
        let advice = |type_text: &str| {
            let mut object = FrameObject::new(StackObjectKind::Variable, 256);
            object.variable = Some(Variable {
                name: "seen".to_string(),
                type_text: type_text.to_string(),
                kind: cuda_syntax::tree::DeclarationKind::Array,
                is_parameter: false,
                volatility: None,
                initializer: None,
                bytes: Some(256),
                span: Span::new(&SourceFile::from_text("a.cu", ""), 0..0),
                sharing: Vec::new(),
                members: Vec::new(),
            });
            packed(&StackObject::new(&object, &facts, &trees))
        };
        let expected = "pack the 256 flags into 8 words of bits, an eighth of the memory";
        assert_eq!(advice("bool[256]").as_deref(), Some(expected));
        for type_text in ["bool[64]", "char[256]", "bool[8][64]"] {
            assert_eq!(advice(type_text).is_some(), type_text == "bool[8][64]", "{type_text}");
        }
    }
}
