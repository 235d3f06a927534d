//! A local variable is accessed as another type, through a cast of its address.
//!
//! ## Why it costs
//! Registers hold values of the declared type. An element of another type at an index that is only known at run time
//! has an address and no register, so the whole variable is in local memory: stored as one type, loaded as the other.
//! It is also undefined behaviour, unless the other type is `char` or `std::byte`: the compiler may assume that a
//! `float4` and a `__half` never share memory, and move loads before stores.
//!
//! ## What to do
//! - Select the component (`switch`, or an unrolled loop over all of them), then take the part out of it: shifts for
//!   bytes, `__low2half` and `__high2half` for halves.
//! - Load and store the vector as a vector, and unpack it into an array whose indices are constants.
//! - Keep the elements in shared memory where the index must be free.
//!
//! A union in place of the cast keeps the index, and the variable in memory with it.
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
//! Where all that is read at run time are single parts of one vector or number, the component is selected and the part
//! taken out of it with a shift. That gives what the cast gave, but is not what an undefined access must do. An index behind
//! the last part, which was undefined, reads another part then. Shared memory in place of a kernel's own variable leaves the
//! casts as they are, with what is undefined about them; see `dynamic_index`. All other ways out are advice: they change how
//! the kernel computes.
//!
//! ## When it is wrong
//! Access through `char` or `std::byte` is defined; what remains there is the cost. Where the index is constant in the machine code,
//! nothing is reported, though the cast is undefined behaviour all the same.
//!
//! ## Related lints
//! `dynamic_index`, `address_escape`

use lmem_base::level::Level;
use lmem_frame::{StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};
use crate::rewrite::{component, shared};

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
    let how = match cast.is_indexed {
        true => format!("dynamically indexed as `{type_text}`"),
        false => format!("accessed as `{type_text}` and dynamically indexed"),
    };
    let finding = in_local_memory(object, Some(guilty), &how)
        .access(object, guilty, in_loop("dynamic index", object, guilty))
        .label(Some(&cast.span), format!("cast to `{type_text}`"))
        .note("aliasing: undefined behaviour, unless the other type is `char` or `std::byte`");
    let finding = finding.help(match cast.is_indexed {
        true => "select the component without an index and extract the part with shifts or intrinsics",
        false => "load and store the vector as a whole and unpack it into an array with constant indices",
    });
    Some(finding.suggest(component::suggestion(object)).suggest(shared::suggestion(cx, object)))
}
