//! Objects of the PTX in local memory, and what accesses them: the nouns that the rest of this crate fills in and asks.

use std::collections::BTreeSet;

use lmem_base::diagnostic::Uniformity;
use lmem_base::source::Span;
use nv_code::dataflow::{Flow, Provenance, Root, TripCount};
use nv_code::{AccessKind, SourceLine};

use crate::place::Place;

/// Values of a run by where they come from: a parameter, a register of the hardware, or the instruction that loads them.
/// `None` where they cannot all be told.
pub type Origins = Option<BTreeSet<String>>;

/// An object of a function's local variables: function, variable, offset of the object in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    pub function: String,
    pub variable: usize,
    pub offset: u64,
}

/// What the address of an access depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Constant,
    /// A loop counter alone; the loop was not unrolled.
    Induction(TripCount),
    /// Data takes part.
    Computed(Provenance),
}

impl Address {
    /// Takes in another address of the same class.
    pub fn join(&mut self, other: Self) {
        if let (Self::Computed(sources), Self::Computed(others)) = (self, other) {
            sources.merge(others);
        }
    }
}

/// Machine instructions that one statement of the source gave for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub kind: AccessKind,
    /// Machine instructions.
    pub count: u64,
    /// Bytes that one of them moves, the widest.
    pub width: u8,
    pub address: Address,
    /// Bytes of the elements that the PTX moves: 2 of a `ld.local.v4.u16`; several where code was merged.
    pub(crate) elements: BTreeSet<u64>,
    /// What the address is computed from, or for a counter the length of its loop.
    pub(crate) origins: Origins,
    /// How the loop ends that this may be the rest of, after it was unrolled by a factor.
    pub(crate) rest_of: Option<TripCount>,
    /// The PTX says `ld.volatile` or `st.volatile`.
    pub is_volatile: bool,
    /// The deepest of the instructions.
    pub loop_depth: u32,
    /// Levels of inlining that lie in the user's files, innermost first; names are found with them.
    pub places: Vec<Place>,
    /// The statement, or for a known variable its use: `window[k]`.
    pub span: Option<Span>,
    /// The variable at the call, where the access lies in a function that was inlined there: `ring.at` of `ring.at(i)`.
    pub via: Option<Span>,
    /// Bytes of the index, where the variable's use has one.
    pub index: Option<Span>,
    /// Source lines of the branch that closes the innermost loop around it.
    pub(crate) loop_lines: Vec<SourceLine>,
    /// Objects that branches choose between, where nothing else decides on the address.
    pub choice: Vec<ObjectKey>,
    /// The access lies in a function that was given the address, not in the one that owns the object.
    pub in_callee: bool,
}

impl Access {
    /// One machine instruction of 4 bytes, of which nothing else is known.
    pub fn new(kind: AccessKind, address: Address, places: Vec<Place>) -> Self {
        Self {
            kind,
            count: 1,
            width: 4,
            address,
            elements: BTreeSet::new(),
            origins: None,
            rest_of: None,
            is_volatile: false,
            loop_depth: 0,
            places,
            span: None,
            via: None,
            index: None,
            loop_lines: Vec::new(),
            choice: Vec::new(),
            in_callee: false,
        }
    }

    pub fn is_computed(&self) -> bool {
        self.address != Address::Constant
    }

    /// Whether two accesses belong to one statement: `a[k] = a[k] + 1` loads and stores.
    pub fn is_beside(&self, other: &Self) -> bool {
        same_place(self, other) && self.is_computed() == other.is_computed()
    }

    /// Bytes of one element: the smallest that the PTX moves, else what the machine moves.
    pub fn element_bytes(&self) -> Option<u64> {
        self.elements.first().copied().or(Some(u64::from(self.width))).filter(|bytes| *bytes > 0)
    }

    /// Order of guilt: data before counters before constants, then deeper, then less uniform, then more.
    pub fn guilt(&self) -> (u8, u32, u8, u64) {
        (self.class(), self.loop_depth, self.variety(), self.count)
    }

    /// How much of the address is decided at run time.
    pub fn class(&self) -> u8 {
        match self.address {
            Address::Constant => 0,
            Address::Induction(_) => 1,
            Address::Computed(_) => 2,
        }
    }

    /// How far the threads of a warp may use different elements.
    fn variety(&self) -> u8 {
        let Address::Computed(sources) = &self.address else { return 0 };
        match sources.uniformity() {
            Some(Uniformity::Uniform) => 0,
            None => 1,
            Some(Uniformity::PerThread) => 2,
        }
    }
}

/// How the address of an object leaves its function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EscapeKind {
    /// To a function that was not inlined, by its mangled name.
    Call(String),
    /// To a function behind a pointer: virtual calls too.
    IndirectCall,
    /// Written to memory.
    Stored,
    /// Used by an instruction that takes addresses of any memory, such as inline assembly.
    Generic(String),
}

impl EscapeKind {
    /// To `printf`, or what it becomes: its arguments go by one pointer.
    pub fn is_print(&self) -> bool {
        matches!(self, Self::Call(name) if name == "vprintf")
    }
}

/// A place where an address leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escape {
    pub kind: EscapeKind,
    /// Which of how many arguments of the call it is.
    pub argument: Option<(usize, usize)>,
    pub places: Vec<Place>,
    pub span: Option<Span>,
    /// The function that is called is not in this unit.
    pub is_external: bool,
    /// It leaves in the function that owns the object, not in one that was given the address.
    pub is_own: bool,
}

/// An object before it has a name.
#[derive(Debug, Clone, Default)]
pub struct RawObject {
    pub bytes: u64,
    pub accesses: Vec<Access>,
    pub escapes: Vec<Escape>,
    /// It holds intermediate results of the math library: what is stored comes from the library's own tables.
    pub is_library: bool,
    /// All that is loaded from it is an argument of this call: function and instruction.
    pub passed_to: Option<(String, usize)>,
    /// For memory of `alloca` the places of the call; its bytes are not in the frame.
    pub allocation: Option<Vec<Place>>,
    pub stored_values: StoredValues,
}

impl RawObject {
    /// Whether the source may have a variable for it: the library's memory and the arguments of `printf` have none.
    pub fn may_have_name(&self) -> bool {
        let is_printed = !self.escapes.is_empty() && self.escapes.iter().all(|escape| escape.kind.is_print());
        !(self.is_library || is_printed)
    }
}

/// What is stored into an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StoredValues {
    /// Data of the run, or what cannot be seen.
    #[default]
    Data,
    /// Constants alone, and each byte always the same.
    Constants {
        /// Some are the result of instructions: what made them is no constant expression.
        is_computed: bool,
        /// All are read from this variable in constant memory, by its mangled name.
        copied_from: Option<String>,
    },
    /// Bytes of a kernel parameter, in their order.
    Parameter(ParameterCopy),
}

/// A kernel parameter that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterCopy {
    /// Its place in the list of parameters, from 0.
    pub number: usize,
    /// As the source declares it, where the list can be read off the source.
    pub parameter: Option<Parameter>,
    /// The object lies this far from the start of the parameter, where that is the same for all bytes.
    pub offset: Option<i64>,
    /// Bytes of the object that come from the parameter, as far as their addresses are constant.
    pub bytes: u64,
    /// Every byte of the object that is stored comes from the parameter first.
    pub is_whole: bool,
    /// Where the kernel writes something else to the copy.
    pub writes: Vec<Span>,
    /// Whether a function that was given the address, or code that is not seen, may write to it.
    pub may_be_written: bool,
}

/// A parameter of a kernel, as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub type_text: String,
    pub span: Span,
}

impl StoredValues {
    /// Names the parameter by its place in the list.
    pub fn name(&mut self, parameters: &[Option<Parameter>]) {
        if let Self::Parameter(copy) = self {
            copy.parameter = parameters.get(copy.number).cloned().flatten();
        }
    }
}

pub(crate) fn same_place(left: &Access, right: &Access) -> bool {
    let key = |place: &Place| (place.tree, place.line, place.offset);
    left.places.iter().map(key).eq(right.places.iter().map(key))
}

/// The object that a root names.
pub fn key(flow: &Flow<'_>, root: &Root) -> Option<ObjectKey> {
    match root {
        Root::Local { variable, offset } => {
            Some(ObjectKey { function: flow.function.name.to_string(), variable: *variable, offset: *offset })
        }
        _ => None,
    }
}
