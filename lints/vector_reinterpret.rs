//! A local variable is accessed as another type, through a cast of its address.
//!
//! ## Why it costs
//! A register holds a value of the declared type. An element of another type at a run-time index needs an address, so
//! the whole variable is in local memory: stored as one type, loaded as the other. It is also undefined behaviour,
//! unless the other type is `char` or `std::byte`. The compiler may assume that a `float4` and a `__half` never share
//! memory, and move loads before stores.
//!
//! ## What to do
//! - Select the component (`switch`, or an unrolled loop over all components), then extract the part: shifts for bytes,
//!   `__low2half` and `__high2half` for halves.
//! - Load and store the vector as a vector, and unpack it into an array with constant indices.
//! - Keep the elements in shared memory if the index must be dynamic.
//!
//! A union instead of the cast keeps the dynamic index, and therefore the local memory.
//!
//! ## Example
//! Before:
//! ```cpp
//! uint4 packed = in[i];
//! const __half *half = reinterpret_cast<const __half *>(&packed);
//! out[i] = __half2float(half[lane[i] & 7]);
//! ```
//! After:
//! ```cpp
//! unsigned low = (k & 2) ? packed.y : packed.x;
//! unsigned high = (k & 2) ? packed.w : packed.z;
//! unsigned pair = (k & 4) ? high : low;
//! ```
//!
//! ## Fix safety
//! If all run-time reads are of single parts of one vector or number, the edit selects the component and extracts the
//! part with a shift. The result is the one that the cast gave, although an undefined access need not give it. An index
//! beyond the last part was undefined; it now reads another part. Moving a kernel's own variable to shared memory keeps
//! the casts, which stay undefined; see `dynamic_index`. All other remedies are advice: they change how the kernel
//! computes.
//!
//! ## When it is wrong
//! Access through `char` or `std::byte` is defined; only the cost remains. An index that is constant in the machine
//! code is not reported, although the cast is undefined behaviour all the same.
//!
//! ## Related lints
//! `dynamic_index`, `address_escape`

use lmem_base::level::Level;
use lmem_frame::{Address, StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop, origin};
use crate::rewrite::{component, shared, unroll, untried};

pub(crate) static LINT: Lint = Lint {
    name: "vector_reinterpret",
    level: Level::Warn,
    source: include_str!("vector_reinterpret.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let cast = object.reinterpretation().filter(|_| matches!(object.kind, StackObjectKind::Variable))?;
    let guilty = object.guilty().filter(|access| access.is_computed())?;
    let type_text = &cast.type_text;
    let is_walked = matches!(guilty.address, Address::Induction(_));
    let how = match cast.is_indexed {
        true if is_walked => format!("walked as `{type_text}` by a rolled loop"),
        true => format!("dynamically indexed as `{type_text}`"),
        false => format!("accessed as `{type_text}` and dynamically indexed"),
    };
    let index = match &guilty.address {
        Address::Computed(sources) => origin(sources),
        _ => "index of a rolled loop".to_string(),
    };
    let finding = in_local_memory(object, Some(guilty), &how)
        .access(object, guilty, in_loop(&index, object, guilty))
        .label(Some(&cast.span), format!("cast to `{type_text}`"));
    let finding = match may_alias(type_text) {
        true => finding,
        false => finding.note("aliasing: undefined behaviour, unless the other type is `char` or `std::byte`"),
    };
    let finding = finding.help(match cast.is_indexed {
        true => "select the component without an index and extract the part with shifts or intrinsics",
        false => "load and store the vector as a whole and unpack it into an array with constant indices",
    });
    let unrolled = if is_walked { unroll::suggestion(object) } else { None };
    let finding = finding.suggest(component::suggestion(object)).suggest(unrolled);
    Some(finding.suggest(shared::suggestion(cx, object)).or_untried(|| untried::reason(cx, object)))
}

/// Whether any object may be accessed as a type: the types of bytes, under their usual names.
fn may_alias(type_text: &str) -> bool {
    let words = type_text.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile"));
    let name = words.collect::<Vec<_>>().join(" ");
    let name = name.trim_start_matches("::").trim_start_matches("std::").trim_start_matches("cuda::std::");
    matches!(name, "char" | "unsigned char" | "uint8_t" | "byte" | "uchar")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_may_be_those_of_any_object() {
        for name in ["char", "const unsigned char", "uint8_t", "std::byte", "unsigned char const", "cuda::std::uint8_t"]
        {
            assert!(may_alias(name), "{name}");
        }
        for name in ["signed char", "int8_t", "float", "uint16_t", "char2", "my::pixel"] {
            assert!(!may_alias(name), "{name}");
        }
    }
}
