//! Decoded instructions: registers are indices, types are part of the operation, branch targets are indices.

use ptx_syntax::{Space, SpecialRegister, Type};

use crate::convert::Conversion;
use crate::float::{Comparison, Mode, Property};
use crate::integer::Permute;
use crate::memory::Class;
use crate::soft::Format;

/// One value per lane of a warp.
pub(crate) type Lanes = [u64; 32];

/// A source operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Src {
    Reg(u32),
    Imm(u64),
    Special(SpecialRegister),
    /// An offset in the function's local memory.
    Local(u64),
    /// A module variable, and an offset in it.
    Link(u32, u64),
}

/// A predicate operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PredicateSrc {
    Reg { register: u32, negated: bool },
    Constant(bool),
}

/// A function of up to three operands.
#[derive(Debug, Clone)]
pub(crate) enum Compute {
    One(fn(&mut Lanes, &Lanes)),
    Two(fn(&mut Lanes, &Lanes, &Lanes)),
    Three(fn(&mut Lanes, &Lanes, &Lanes, &Lanes)),
    /// Per lane, with modifiers.
    Float(fn(&Mode, u64, u64, u64) -> u64, Mode),
    Convert(Box<Conversion>),
    /// Sign- or zero-extends from `from` bits, and truncates to `to` bits.
    Extend {
        from: u32,
        signed: bool,
        to: u32,
    },
    Permute(Permute),
    Dot4 {
        a_signed: bool,
        b_signed: bool,
    },
    Dot2 {
        signed: (bool, bool),
        upper: bool,
    },
}

/// A check for undefined behaviour during the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    None,
    /// Division by zero, with the width of the divisor.
    Division(u32),
    /// A shift amount too large for the width of the operand.
    Shift(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// A comparison of two operands: one bit per lane.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Compare {
    Wide(fn(&Lanes, &Lanes) -> u32),
    Float { format: Format, ftz: bool, kind: Comparison, unordered: bool, packed: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarryKind {
    Add,
    Sub,
    MadLo,
    MadHi,
}

/// An address: base and offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Addr {
    pub base: Src,
    pub offset: u64,
    /// A 32-bit address, which wraps.
    pub narrow: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemoryOperand {
    pub space: Space,
    /// Size of an element.
    pub bytes: u32,
    pub addr: Addr,
    pub ty: Type,
    pub class: Class,
    /// `.volatile`, `.relaxed`, `.acquire` and atomics: others may write concurrently.
    pub polls: bool,
    /// For a sign-extending load, the widths before and after.
    pub extend: Option<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShuffleKind {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoteKind {
    All,
    Any,
    Uniform,
    Ballot,
}

/// A warp-level operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CollectiveKind {
    Shuffle(ShuffleKind),
    Vote(VoteKind),
    /// `match.sync`: the lanes with equal values; with `all`, whether all values are equal.
    Match {
        bits: u32,
        all: bool,
    },
    Reduce {
        op: AtomOp,
        signed: bool,
    },
    Elect,
    WarpBarrier,
    Matrix(Matrix),
    LoadMatrix {
        count: u32,
        transposed: bool,
    },
    StoreMatrix {
        count: u32,
        transposed: bool,
    },
    LoadFragment(Fragment),
    StoreFragment(Fragment),
}

/// `mma` and `wmma.mma`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Matrix {
    pub shape: (u32, u32, u32),
    /// Operands are `wmma` fragments, whose layout is this machine's own.
    pub is_wmma: bool,
    pub types: [Type; 4],
    pub saturates: bool,
    /// Always `None`: no supported shape combines bits.
    pub logic: Option<Logic>,
}

/// `wmma.load` and `wmma.store`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fragment {
    pub shape: (u32, u32, u32),
    /// `a`, `b`, `c`, `d`
    pub which: char,
    pub row_major: bool,
    pub ty: Type,
    pub space: Space,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Collective {
    pub kind: CollectiveKind,
    /// Mask of the participating lanes; `None` for all.
    pub mask: Option<Src>,
    pub inputs: Vec<Src>,
    pub predicate: Option<PredicateSrc>,
    /// `None` for a result that is dropped.
    pub outputs: Vec<Option<u32>>,
    pub predicate_out: Option<u32>,
    pub addr: Option<Addr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Barrier {
    pub kind: BarrierKind,
    pub id: Src,
    pub count: Option<Src>,
    pub predicate: PredicateSrc,
    /// A general or predicate register.
    pub output: Option<u32>,
}

/// Bytes in the parameter area of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub offset: u32,
    pub bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Printf,
    Malloc,
    Free,
    AssertFail,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Callee {
    Direct(u32),
    Indirect(Src),
    Builtin(Builtin),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub callee: Callee,
    pub inputs: Vec<Slot>,
    pub outputs: Vec<Slot>,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// The start of a basic block, where lanes may reconverge.
    Block {
        block: u32,
        is_join: bool,
    },
    Compute {
        compute: Compute,
        check: Check,
        d: u32,
        a: Src,
        b: Src,
        c: Src,
    },
    BitInsert {
        bits: u32,
        d: u32,
        s: [Src; 4],
    },
    Lop3 {
        table: u64,
        d: u32,
        s: [Src; 3],
        predicate: Option<(Logic, PredicateSrc, u32)>,
    },
    Carry {
        kind: CarryKind,
        bits: u32,
        signed: bool,
        reads: bool,
        writes: bool,
        d: u32,
        a: Src,
        b: Src,
        c: Src,
    },
    Compare {
        compare: Compare,
        a: Src,
        b: Src,
        combine: Option<(Logic, PredicateSrc)>,
        p: Option<u32>,
        q: Option<u32>,
    },
    Set {
        compare: Compare,
        a: Src,
        b: Src,
        combine: Option<(Logic, PredicateSrc)>,
        d: u32,
        one: u64,
    },
    Test {
        format: Format,
        property: Property,
        d: u32,
        a: Src,
    },
    Predicate {
        logic: Option<Logic>,
        negate: bool,
        d: u32,
        a: PredicateSrc,
        b: PredicateSrc,
    },
    Select {
        d: u32,
        a: Src,
        b: Src,
        p: PredicateSrc,
    },
    Pack {
        d: u32,
        parts: Vec<Src>,
        bits: u32,
    },
    Unpack {
        parts: Vec<Option<u32>>,
        a: Src,
        bits: u32,
    },
    MoveAll {
        d: Vec<u32>,
        a: Vec<Src>,
    },
    Load {
        access: Box<MemoryOperand>,
        d: Vec<Option<u32>>,
    },
    Store {
        access: Box<MemoryOperand>,
        a: Vec<Src>,
    },
    Atom {
        access: Box<MemoryOperand>,
        op: AtomOp,
        d: Option<u32>,
        b: Src,
        c: Src,
    },
    CopyAsync {
        to: Addr,
        from: Addr,
        bytes: u32,
        source_bytes: Option<Src>,
        ignore: Option<PredicateSrc>,
    },
    IsSpace {
        space: Space,
        d: u32,
        a: Src,
    },
    Alloca {
        d: u32,
        a: Src,
        align: u64,
    },
    StackSave {
        d: u32,
    },
    StackRestore {
        a: Src,
    },
    ActiveMask {
        d: u32,
    },
    Collective(Box<Collective>),
    Barrier(Box<Barrier>),
    Branch {
        target: u32,
        meet: u32,
    },
    BranchTable {
        index: Src,
        table: Vec<u32>,
        meet: u32,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Nothing,
    NotSupported(Box<str>),
}

/// A decoded instruction.
#[derive(Debug, Clone)]
pub(crate) struct Inst {
    pub guard: Option<(u32, bool)>,
    pub op: Op,
    /// Index of the PTX instruction in its function.
    pub site: u32,
}

/// No reconvergence point.
pub(crate) const NOWHERE: u32 = u32::MAX;
