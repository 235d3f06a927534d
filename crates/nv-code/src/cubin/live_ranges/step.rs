//! Instructions, as far as live ranges go.

use std::ops::Range;

use crate::cubin::registers::{Operands, RegisterSet, operands};
use crate::cubin::sass::{AccessKind, AddressBase, INSTRUCTION_BYTES, STACK_POINTER, SassFunction, ZERO_REGISTER};

/// Bytes of a machine register, and of a slot for one.
const WORD_BYTES: i64 = 4;

/// One instruction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    pub operands: Operands,
    /// A spill or refill, and the words that it moves.
    pub slot: Option<(AccessKind, u32, u8)>,
    /// It is executed only where a predicate holds.
    pub is_conditional: bool,
    /// What it writes depends on no register and no memory: a constant, a parameter, or zero.
    pub is_constant: bool,
    pub ending: Option<Ending>,
    pub call: Option<Call>,
}

/// How threads leave the code of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The thread ends.
    Exit,
    Return,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// The number of the instruction that is called.
    Direct(u32),
    Unknown,
}

impl Step {
    /// An instruction of a function; `None` if its registers are not known.
    pub fn new(sass: &SassFunction<'_>, offset: u32, lo: u64, hi: u64, is_spill: &dyn Fn(u32) -> bool) -> Option<Self> {
        /// `EXIT`, `KILL`, `RET` and `CALL`, without the form.
        const EXIT: u64 = 0x14d;
        const KILL: u64 = 0x15b;
        const RETURN: u64 = 0x150;
        const CALL_ABSOLUTE: u64 = 0x143;
        const CALL_RELATIVE: u64 = 0x144;
        const ALWAYS: u64 = 7;
        /// Operations below compute.
        const COMPUTING: u64 = 0x80;
        let mut operands = match lo & 0x1ff {
            KILL => Operands::default(),
            _ => operands(sass.number(), lo, hi)?,
        };
        let is_constant = lo & 0x1ff < COMPUTING && operands.reads == RegisterSet::default();
        let spill = sass.local_instruction(offset).filter(|local| local.base == AddressBase::Stack && is_spill(offset));
        let slot = spill.and_then(|local| {
            let first = u32::try_from(i64::from(local.immediate).div_euclid(WORD_BYTES)).ok()?;
            Some((local.kind, first, (i64::from(local.bytes) / WORD_BYTES) as u8)).filter(|(.., count)| *count > 0)
        });
        // The zero register has no value to keep.
        if slot.is_some() && spill.is_some_and(|local| local.data == ZERO_REGISTER) {
            operands.reads = [STACK_POINTER].into_iter().collect();
        }
        let call = match lo & 0x1ff {
            CALL_RELATIVE if lo & 0xfff == 0x944 => {
                let target = sass.relative_target(offset, lo, hi).map(|target| target / INSTRUCTION_BYTES as u32);
                Some(target.map_or(Call::Unknown, Call::Direct))
            }
            CALL_ABSOLUTE | CALL_RELATIVE => Some(Call::Unknown),
            _ => None,
        };
        let ending = match lo & 0x1ff {
            EXIT | KILL => Some(Ending::Exit),
            RETURN => Some(Ending::Return),
            _ => None,
        };
        Some(Self { operands, slot, is_conditional: lo >> 12 & 0xf != ALWAYS, is_constant, ending, call })
    }

    /// The words of the frame that a spill or refill moves.
    pub fn words(&self) -> Range<u32> {
        self.slot.map_or(0..0, |(_, first, count)| first..first.saturating_add(u32::from(count)))
    }

    /// The first register that a spill stores or a refill loads.
    pub fn data(&self) -> Option<u8> {
        match self.slot? {
            (AccessKind::Load, ..) => self.operands.writes.iter().next(),
            (AccessKind::Store, ..) => self.operands.reads.iter().find(|register| *register != STACK_POINTER),
        }
    }
}
