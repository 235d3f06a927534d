//! Local-memory objects of the PTX and their accesses: the central data types of this crate.

use std::collections::BTreeSet;

use lmem_base::diagnostic::Uniformity;
use lmem_base::source::Span;
use nv_code::dataflow::{Flow, Provenance, Root, TripCount};
use nv_code::{AccessKind, SourceLines};

use crate::place::{Place, Places};

/// Run-time values by their origin: a parameter, a special register, or the instruction that loads the value. `None` if
/// not all origins are known.
pub type Origins = Option<BTreeSet<String>>;

/// Identifies a PTX object among a function's local variables: function, variable, offset of the object in the
/// variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    pub function: String,
    pub variable: usize,
    pub offset: u64,
}

/// The dependence of an access's address on run-time values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Constant,
    /// Depends only on induction variables, of a loop that was not unrolled.
    Induction(TripCount),
    /// Depends on data.
    Computed(Provenance),
}

impl Address {
    /// Merges another address of the same class.
    pub fn join(&mut self, other: Self) {
        if let (Self::Computed(sources), Self::Computed(others)) = (self, other) {
            sources.merge(others);
        }
    }
}

/// Limit on the origins of addresses that are kept apart when accesses are merged.
const MAX_PARTS: usize = 16;

/// The machine instructions of one source statement that access one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub kind: AccessKind,
    /// Number of machine instructions.
    pub count: u64,
    /// Bytes per machine instruction, the widest one counts.
    pub width: u8,
    pub address: Address,
    /// Origins of the addresses that were merged, each once; none where nothing was.
    pub(crate) parts: Vec<Provenance>,
    /// Element sizes in the PTX: 2 for `ld.local.v4.u16`; several if code was merged.
    pub(crate) elements: BTreeSet<u64>,
    /// Origins of the address; for an induction variable, the origins of its trip count.
    pub(crate) origins: Origins,
    /// The kernel's parameters that the address derives from, bit `n` for parameter `n`; `None` in other functions.
    pub(crate) parameters: Option<u64>,
    /// Whether threads of a warp may use different addresses; `None` if unknown.
    pub(crate) divergent: Option<bool>,
    /// The innermost loop of the PTX around the access, by its number in its function.
    pub(crate) ptx_loop: Option<usize>,
    /// If the access may be in the remainder loop of a loop unrolled by a factor: the trip count of that loop.
    pub(crate) rest_of: Option<TripCount>,
    /// Whether the index is the induction variable of a search that has ended: its last value is a result, not a walk.
    pub(crate) is_found: bool,
    /// Whether the statement is not known: `places` begin with a loop around it, or with the call that it was inlined at.
    pub(crate) is_vague: bool,
    /// Whether the PTX instruction is `ld.volatile` or `st.volatile`.
    pub is_volatile: bool,
    /// Maximum loop depth of the instructions.
    pub loop_depth: u32,
    /// The inlined frames in the user's files, innermost first; symbolization uses them.
    pub places: Places,
    /// Where the value of a load is used first: the compiler gives loads that it moves out of loops other places.
    pub(crate) used_at: Places,
    /// The statement; for a known variable, its use in the statement: `window[k]`.
    pub span: Option<Span>,
    /// For an access in an inlined function, the variable at the call site: `ring.at` for `ring.at(i)`.
    pub via: Option<Span>,
    /// The subscript of the use, if it has one.
    pub index: Option<Span>,
    /// Source lines of the back-edge branch of the innermost loop around the access.
    pub(crate) loop_lines: SourceLines,
    /// Objects selected by branches, if the address depends on nothing else.
    pub choice: Vec<ObjectKey>,
    /// Whether the access is in a function that was passed the address, not in the function that owns the object.
    pub in_callee: bool,
    /// Whether it belongs to a variable of another lifetime that has the same bytes.
    pub(crate) is_of_sharing: bool,
}

impl Access {
    /// A single 4-byte machine instruction; all other facts are unknown.
    pub fn new(kind: AccessKind, address: Address, places: Places) -> Self {
        Self {
            kind,
            count: 1,
            width: 4,
            address,
            parts: Vec::new(),
            elements: BTreeSet::new(),
            origins: None,
            parameters: None,
            divergent: None,
            ptx_loop: None,
            rest_of: None,
            is_found: false,
            is_vague: false,
            is_volatile: false,
            loop_depth: 0,
            places,
            used_at: Places::default(),
            span: None,
            via: None,
            index: None,
            loop_lines: SourceLines::default(),
            choice: Vec::new(),
            in_callee: false,
            is_of_sharing: false,
        }
    }

    /// Notes the origins of an address that is merged, before it is.
    pub(crate) fn note_part(&mut self, other: &Address) {
        for address in [self.parts.is_empty().then(|| self.address.clone()), Some(other.clone())].into_iter().flatten()
        {
            let Address::Computed(mut sources) = address else { continue };
            sources.steps.clear();
            if self.parts.len() < MAX_PARTS && !self.parts.contains(&sources) {
                self.parts.push(sources);
            }
        }
    }

    pub fn is_computed(&self) -> bool {
        self.address != Address::Constant
    }

    /// Whether two accesses belong to the same statement: `a[k] = a[k] + 1` loads and stores.
    pub fn is_beside(&self, other: &Self) -> bool {
        same_place(self, other) && self.is_computed() == other.is_computed()
    }

    /// Element size: the smallest in the PTX, else the width in machine code.
    pub fn element_bytes(&self) -> Option<u64> {
        self.elements.first().copied().or(Some(u64::from(self.width))).filter(|bytes| *bytes > 0)
    }

    /// Sort key for blame: accesses of the variable itself, not of one that shares its bytes; data-dependent addresses
    /// first, then induction variables, then constants; then by loop depth, divergence, and count.
    pub fn guilt(&self) -> (bool, u8, u32, u8, u64) {
        (!self.is_of_sharing, self.class(), self.loop_depth, self.variety(), self.count)
    }

    /// The address class, by its dependence on run-time values.
    pub fn class(&self) -> u8 {
        match self.address {
            Address::Constant => 0,
            Address::Induction(_) => 1,
            Address::Computed(_) => 2,
        }
    }

    /// How divergent the address is within a warp.
    fn variety(&self) -> u8 {
        let Address::Computed(sources) = &self.address else { return 0 };
        match sources.uniformity() {
            Some(Uniformity::Uniform) => 0,
            None => 1,
            Some(Uniformity::PerThread) => 2,
        }
    }
}

/// How the address of an object escapes from its function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EscapeKind {
    /// As an argument of a function that was not inlined, by its mangled name.
    Call(String),
    /// As an argument of an indirect call, virtual calls included.
    IndirectCall,
    /// Stored to memory.
    Stored,
    /// Stored among the arguments of `printf`.
    Printed,
    /// Used by an instruction that takes generic addresses, such as inline assembly.
    Generic(String),
}

/// What `printf` is compiled to.
pub(crate) const PRINT: &str = "vprintf";

impl EscapeKind {
    /// Whether the callee is `printf`, compiled to `vprintf`: its arguments are passed by one pointer.
    pub fn is_print(&self) -> bool {
        matches!(self, Self::Call(name) if name == PRINT)
    }
}

/// A place where an address escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escape {
    pub kind: EscapeKind,
    /// Index of the argument, and number of arguments of the call.
    pub argument: Option<(usize, usize)>,
    pub places: Places,
    pub span: Option<Span>,
    /// Whether the callee is outside this unit.
    pub is_external: bool,
    /// Whether the address escapes in the function that owns the object, not in one that was passed the address.
    pub is_own: bool,
}

/// An object before symbolization.
#[derive(Debug, Clone, Default)]
pub struct RawObject {
    pub bytes: u64,
    /// Where the last byte ends that is accessed at a known place.
    pub extent: u64,
    pub accesses: Vec<Access>,
    pub escapes: Vec<Escape>,
    /// Whether the object holds intermediate results of the math library; the stored values come from the library's own
    /// tables.
    pub is_library: bool,
    /// Whether the library has them in the bytes of a variable.
    pub shares_library: bool,
    /// If all values loaded from the object are arguments of one call: the function and the call instruction.
    pub passed_to: Option<(String, usize)>,
    /// For `alloca` memory, the inlined frames of the call; its bytes are not in the frame.
    pub allocation: Option<Places>,
    pub stored_values: StoredValues,
}

impl RawObject {
    /// Whether the source may have a variable for the object: the library's memory and the argument buffer of `printf`
    /// have none. That buffer is written at constant places alone; with others, a variable shares its bytes.
    pub fn may_have_name(&self) -> bool {
        let is_buffer = self.is_print_buffer() && !self.accesses.iter().any(Access::is_computed);
        !(self.is_library || is_buffer)
    }

    /// Whether its address is passed to `printf` alone.
    pub fn is_print_buffer(&self) -> bool {
        !self.escapes.is_empty() && self.escapes.iter().all(|escape| escape.kind.is_print())
    }
}

/// The values stored into an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StoredValues {
    /// Run-time data, or stores that cannot be analysed.
    #[default]
    Data,
    /// Only constants, and each byte always has the same value.
    Constants {
        /// Whether some values are computed by instructions, so no constant expression produced them.
        is_computed: bool,
        /// If all values are read from one variable in constant memory: its mangled name.
        copied_from: Option<String>,
    },
    /// Bytes of a kernel parameter, in order.
    Parameter(ParameterCopy),
}

/// A copy of a kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterCopy {
    /// Index in the parameter list, from 0.
    pub number: usize,
    /// The declared parameter, if the parameter list is readable in the source.
    pub parameter: Option<Parameter>,
    /// Offset of the object in the parameter, if it is the same for all bytes.
    pub offset: Option<i64>,
    /// Bytes of the object copied from the parameter, counting only constant addresses.
    pub bytes: u64,
    /// Whether every stored byte of the object is first copied from the parameter.
    pub is_whole: bool,
    /// Statements where the kernel writes other values to the copy.
    pub writes: Vec<Span>,
    /// Whether a function that gets the address, or code that is not visible, may write the copy.
    pub may_be_written: bool,
}

/// A declared kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub type_text: String,
    pub span: Span,
}

impl StoredValues {
    /// Looks up the declared parameter by its index.
    pub fn name(&mut self, parameters: &[Option<Parameter>]) {
        if let Self::Parameter(copy) = self {
            copy.parameter = parameters.get(copy.number).cloned().flatten();
        }
    }
}

pub(crate) fn same_place(left: &Access, right: &Access) -> bool {
    // Instances of a template have variables of their own.
    let key = |place: &Place| (place.tree, place.line, place.offset, place.function.clone());
    left.places.is_alike(&right.places, key)
}

/// The object of a pointer root.
pub fn key(flow: &Flow<'_>, root: &Root) -> Option<ObjectKey> {
    match root {
        Root::Local { variable, offset } => {
            Some(ObjectKey { function: flow.function.name.to_string(), variable: *variable, offset: *offset })
        }
        _ => None,
    }
}
