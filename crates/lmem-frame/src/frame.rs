//! The stack frame of a kernel as a sum of objects. Frames are plain values.

use std::collections::BTreeSet;
use std::sync::Arc;

use cuda_syntax::tree::BoundsPlace;
use cuda_syntax::types;
use lmem_base::diagnostic::ResourceUsage;
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use nv_code::KernelFacts;

use crate::access::{Access, Escape, ObjectKey, StoredValues};
use crate::allocation::Allocation;
use crate::calls::CallArea;
use crate::spill::{Limit, Spills};
use crate::symbolize::name::Variable;

/// The frame of a kernel, or of a function with a frame of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFrame {
    /// Demangled name without parameters: `running_mean<32>`.
    pub name: String,
    pub mangled: String,
    pub is_entry: bool,
    pub usage: ResourceUsage,
    /// Whether ptxas cannot determine the stack size.
    pub stack_is_unknown: bool,
    /// The name in the source, if it is in the user's files.
    pub span: Option<Span>,
    pub launch_bounds: LaunchBounds,
    /// Register limit per thread; known if the function's PTX is available.
    pub limit: Option<Limit>,
    /// For a kernel that spills: its figures without the register limit.
    pub unlimited: Option<ResourceUsage>,
    /// For a kernel that spills: its figures with spilling to shared memory, if that was tried.
    pub shared_spilling: Option<ResourceUsage>,
    /// The opening brace of its body.
    pub body: Option<Span>,
    /// The objects of the frame; the bytes that they take of it add up to the frame size.
    pub objects: Vec<FrameObject>,
    /// For a device function with its own frame: mangled names of the kernels that contain a copy of it.
    pub kernels: BTreeSet<String>,
    /// The call cycle of the function, if it is recursive.
    pub recursion: Option<Arc<Recursion>>,
    /// Whether it is a device function that may be called indirectly.
    pub is_address_taken: bool,
    /// Bytes moved by callee-saved registers, as `(stored, loaded)`; ptxas counts them as spills.
    pub saved: (u64, u64),
    /// Bytes that spills of other functions move in this frame, as `(stored, loaded)`; ptxas counts them for those
    /// functions.
    pub shared_spills: (u64, u64),
    /// Set if ptxas's spill figures differ from its spill marks.
    pub spill_check: Option<SpillCheck>,
}

/// A call cycle: functions that call each other recursively.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recursion {
    /// Demangled names; the function that is entered first comes first.
    pub functions: Vec<String>,
    /// The name of the first function in the source.
    pub span: Option<Span>,
    /// The calls that close the cycle.
    pub closing: Vec<Span>,
}

/// Bytes moved by spills, as `(stored, loaded)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpillCheck {
    /// Counted from the marked instructions, and those that save registers.
    pub found: (u64, u64),
    /// Reported by ptxas.
    pub reported: (u64, u64),
}

/// Attributes in the source that limit registers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    pub span: Option<Span>,
    /// `__maxnreg__(n)`
    pub max_registers_span: Option<Span>,
    /// Where they stand: what several kernels have cannot be edited for one.
    pub place: BoundsPlace,
}

/// A part of the frame with one owner, as a plain value.
///
/// It contains what attribution itself needs. Facts that only some lints need are queried from a [`StackObject`].
///
/// [`StackObject`]: crate::StackObject
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameObject {
    pub kind: StackObjectKind,
    /// The PTX object; `None` if the PTX has none.
    pub key: Option<ObjectKey>,
    /// Size in the frame, with the gap up to the next object.
    pub bytes: u64,
    /// Of the last object: bytes up to the end of the frame. Gaps between objects are in `bytes` alone: compare with
    /// [`Variable::bytes`].
    pub padding: u64,
    /// If the object lies in bytes that a deeper chain of calls takes, so that the frame would be as large without it:
    /// the demangled name of the function whose calls these are.
    pub overlaid_by: Option<String>,
    pub variable: Option<Variable>,
    pub accesses: Vec<Access>,
    // Symbolization needs these two, so they are computed before any lint asks.
    pub(crate) escapes: Vec<Escape>,
    pub(crate) stored_values: StoredValues,
    /// If all values loaded from the object are arguments of one call: the function and the call instruction.
    pub(crate) argument_of: Option<(String, usize)>,
    /// Demangled name of the owning function, if it is not the kernel itself.
    pub function: Option<String>,
    /// Whether the object holds intermediate results of the math library.
    pub is_library: bool,
    /// Whether the library has them in the bytes of the variable.
    pub(crate) shares_library: bool,
}

/// The call that gets a by-value copy of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedTo {
    /// Mangled name; `None` for an indirect call.
    pub callee: Option<String>,
    pub call: Option<Span>,
}

/// A call of a math function such as `sinf(x)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MathFunction {
    /// The name in the source; `None` if the call is hidden in a macro or a header.
    pub name: Option<String>,
    /// The call, else its statement.
    pub span: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackObjectKind {
    /// A source variable, or a part that the compiler split off.
    Variable,
    /// All spill slots of the kernel.
    Spills(Box<Spills>),
    /// A call area.
    Call(Box<CallArea>),
    /// `alloca` memory, which is not in the frame.
    Allocation(Box<Allocation>),
    /// A recursion that the kernel enters; its bytes are in the frames of the recursive functions.
    Recursion(Arc<Recursion>),
    /// The remainder, whose purpose is unknown.
    Unknown,
}

impl KernelFrame {
    /// A frame with a known size only.
    pub(crate) fn new(kernel: &KernelFacts) -> Self {
        Self {
            name: demangle(&kernel.name),
            mangled: kernel.name.clone(),
            is_entry: kernel.is_entry,
            usage: kernel.usage,
            stack_is_unknown: kernel.stack_is_unknown,
            span: None,
            launch_bounds: LaunchBounds::default(),
            limit: None,
            unlimited: None,
            shared_spilling: None,
            body: None,
            objects: Vec::new(),
            kernels: BTreeSet::new(),
            recursion: None,
            is_address_taken: false,
            saved: (0, 0),
            shared_spills: kernel.shared_spills,
            spill_check: None,
        }
    }
}

impl FrameObject {
    /// An object with a known size only.
    pub fn new(kind: StackObjectKind, bytes: u64) -> Self {
        Self {
            kind,
            key: None,
            bytes,
            padding: 0,
            overlaid_by: None,
            variable: None,
            accesses: Vec::new(),
            escapes: Vec::new(),
            stored_values: StoredValues::default(),
            argument_of: None,
            function: None,
            is_library: false,
            shares_library: false,
        }
    }

    /// The bytes that the frame has for this object alone.
    pub fn counted_bytes(&self) -> u64 {
        if self.overlaid_by.is_some() { 0 } else { self.bytes }
    }

    /// Places where the address escapes from the owning function.
    pub fn escapes(&self) -> &[Escape] {
        &self.escapes
    }

    /// The stored values: constants, a kernel parameter, or run-time data.
    pub fn stored_values(&self) -> &StoredValues {
        &self.stored_values
    }

    /// The access to blame: a run-time index first, then the deepest and most frequent.
    pub fn guilty(&self) -> Option<&Access> {
        self.accesses.iter().max_by_key(|access| access.guilt())
    }

    /// Number of array elements, by the declared type, else by the width of the accesses.
    pub fn elements(&self) -> Option<u64> {
        let declared = self.variable.as_ref().and_then(|variable| types::extent(&variable.type_text));
        let smallest = self.accesses.iter().filter_map(Access::element_bytes).min();
        declared.or_else(|| Some((self.bytes - self.padding.min(self.bytes)) / smallest?))
    }

    /// Number of machine instructions of a kind.
    pub fn count(&self, kind: nv_code::AccessKind) -> u64 {
        self.accesses.iter().filter(|access| access.kind == kind).map(|access| access.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_plain_values() {
        fn is_plain<T: Send + Sync + Clone + PartialEq>() {}
        is_plain::<KernelFrame>();
        is_plain::<FrameObject>();
    }
}
