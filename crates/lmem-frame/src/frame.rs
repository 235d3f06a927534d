//! The stack frame of one kernel as a sum of objects. Frames are plain values.

use std::collections::BTreeSet;

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

/// A kernel, or a function with a frame of its own, and what its frame is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFrame {
    /// Demangled, without parameters: `running_mean<32>`.
    pub name: String,
    pub mangled: String,
    pub is_entry: bool,
    pub usage: ResourceUsage,
    /// ptxas cannot tell the size of the stack.
    pub stack_is_unknown: bool,
    /// The name in the source, where that is in the user's files.
    pub span: Option<Span>,
    pub launch_bounds: LaunchBounds,
    /// Registers that a thread may use; known where the PTX of the function is.
    pub limit: Option<Limit>,
    /// For a kernel that spills: its figures when compiled without the limit.
    pub unlimited: Option<ResourceUsage>,
    /// And when it may spill to shared memory, where that was tried.
    pub shared_spilling: Option<ResourceUsage>,
    /// The brace that opens its body.
    pub body: Option<Span>,
    /// Their bytes add up to the frame.
    pub objects: Vec<FrameObject>,
    /// For a function that is no kernel and has a frame of its own: the kernels that have a copy of it, mangled.
    pub kernels: BTreeSet<String>,
    /// The function calls itself, directly or not.
    pub recursion: Option<Recursion>,
    /// It is no kernel, and may be called through a pointer.
    pub is_address_taken: bool,
    /// Bytes that saving registers for callers moves, as `(stored, loaded)`; ptxas counts them as spills.
    pub saved: (u64, u64),
    /// Bytes that spills of other functions move in its frame, as `(stored, loaded)`; ptxas counts them with those.
    pub shared_spills: (u64, u64),
    /// Where ptxas's figures for spills are not those of its marks.
    pub spill_check: Option<SpillCheck>,
}

/// Functions that call each other in a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recursion {
    /// Demangled, the one that is entered first.
    pub functions: Vec<String>,
    /// The name of that one in the source.
    pub span: Option<Span>,
    /// The calls that lead back to it.
    pub closing: Vec<Span>,
}

/// Bytes that spills move, as `(stored, loaded)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpillCheck {
    /// By the marked instructions, and those that save registers.
    pub found: (u64, u64),
    /// By ptxas's own figures.
    pub reported: (u64, u64),
}

/// The attributes that limit registers, as the source writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    pub span: Option<Span>,
    /// `__maxnreg__(n)`
    pub max_registers_span: Option<Span>,
}

/// A part of the frame with one owner, as a plain value.
///
/// It has what attribution itself works with. What only some lints want to know is asked of a [`StackObject`].
///
/// [`StackObject`]: crate::StackObject
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameObject {
    pub kind: StackObjectKind,
    /// The object of the PTX; `None` for what the PTX does not have.
    pub key: Option<ObjectKey>,
    /// Bytes of the frame, with the gap up to the next object.
    pub bytes: u64,
    /// Of the last object: bytes up to the end of the frame. Gaps between objects are in `bytes` alone: compare with
    /// [`Variable::bytes`].
    pub padding: u64,
    pub variable: Option<Variable>,
    pub accesses: Vec<Access>,
    // Naming works with these two, so that they are known before any lint asks.
    pub(crate) escapes: Vec<Escape>,
    pub(crate) stored_values: StoredValues,
    /// All that is loaded from it is an argument of this call: function and instruction.
    pub(crate) argument_of: Option<(String, usize)>,
    /// Demangled name of the function that owns it, where that is not the kernel itself.
    pub function: Option<String>,
    /// It holds intermediate results of the math library.
    pub is_library: bool,
}

/// Where a copy of a structure is passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedTo {
    /// Mangled; `None` for a function behind a pointer.
    pub callee: Option<String>,
    pub call: Option<Span>,
}

/// A call such as `sinf(x)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MathFunction {
    /// As the source calls it; `None` where the call is hidden in a macro or a header.
    pub name: Option<String>,
    /// The call, else the statement that holds it.
    pub span: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackObjectKind {
    /// A variable of the source, or what the compiler made of one.
    Variable,
    /// All spill slots of the kernel.
    Spills(Box<Spills>),
    /// What calls need.
    Call(Box<CallArea>),
    /// Memory of `alloca`, which is not in the frame.
    Allocation(Box<Allocation>),
    /// A recursion that the kernel starts: its bytes are in the frames of the functions.
    Recursion(Box<Recursion>),
    /// What is left: nothing says what it is for.
    Unknown,
}

impl KernelFrame {
    /// A frame of which nothing but its size is known.
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
    /// An object of which nothing but its size is known.
    pub fn new(kind: StackObjectKind, bytes: u64) -> Self {
        Self {
            kind,
            key: None,
            bytes,
            padding: 0,
            variable: None,
            accesses: Vec::new(),
            escapes: Vec::new(),
            stored_values: StoredValues::default(),
            argument_of: None,
            function: None,
            is_library: false,
        }
    }

    /// The places where its address leaves the function that owns it.
    pub fn escapes(&self) -> &[Escape] {
        &self.escapes
    }

    /// What is written into it: constants, a kernel parameter, or data of the run.
    pub fn stored_values(&self) -> &StoredValues {
        &self.stored_values
    }

    /// The access to blame: the one with the run-time index, deepest and most frequent.
    pub fn guilty(&self) -> Option<&Access> {
        self.accesses.iter().max_by_key(|access| access.guilt())
    }

    /// Elements of an array: as many as its type says, else as the accesses' width does.
    pub fn elements(&self) -> Option<u64> {
        let declared = self.variable.as_ref().and_then(|variable| types::extent(&variable.type_text));
        let smallest = self.accesses.iter().filter_map(Access::element_bytes).min();
        declared.or_else(|| Some((self.bytes - self.padding.min(self.bytes)) / smallest?))
    }

    /// Machine instructions of a kind.
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
