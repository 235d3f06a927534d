//! Values that are uniform because of how warps are formed: 32 threads in a row along the first axis of the block, then
//! along the second and the third.

use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg, SpecialRegister, Type};

use crate::dataflow::flow::operands::{constant, for_each_part};
use crate::dataflow::reaching::Reaching;
use crate::ptx::PtxFunction;

/// Threads of a warp.
const WARP: i64 = 32;
/// Bits of a lane index.
const LANE_BITS: i64 = 5;
/// Limit on the chain of shifts and masks that is followed back to the thread index.
const MAX_DEPTH: usize = 8;
/// `c` of `shfl.sync.idx`: the source lane may be any of 32.
const WHOLE_WARP: i64 = 31;

/// Warp-level facts of one function.
pub struct Warps {
    /// Each warp lies in one row of the block.
    is_in_row: bool,
    /// Nothing tells the shape of the block: `threadIdx.x / 32` is uniform in most of them, and not in 48 × 2 threads.
    is_shape_open: bool,
    /// By register: its constant value, if it has one.
    constants: Vec<Option<i64>>,
    /// By instruction: whether it computes the warp index or a value derived from it.
    numbers: Vec<bool>,
}

impl Warps {
    pub fn new(function: &PtxFunction, reaching: &Reaching<'_>) -> Self {
        // `.maxntid` bounds the product of the extents, not each of them: only `.reqntid` gives the shape.
        let required = function.required_threads;
        let is_in_row = function.is_entry
            && match required {
                Some([x, y, z]) => i64::from(x) % WARP == 0 || (y == 1 && z == 1),
                // In a block with a second axis, threads of a kernel that does not ask for it would do the same work.
                None => has_one_axis(function),
            };
        let mut constants = vec![None; function.registers.len()];
        for (register, constant_of) in (0..).map(Reg).zip(&mut constants) {
            let [only] = reaching.all(register) else { continue };
            let definition = &function.instructions[*only];
            if let (Opcode::Mov, None, [Operand::Reg(_), Operand::Imm(value)]) =
                (definition.opcode(), definition.guard, &*definition.operands)
            {
                *constant_of = Some(*value);
            }
        }
        let is_shape_open = !is_in_row && required.is_none();
        let mut warps = Self { is_in_row, is_shape_open, constants, numbers: Vec::new() };
        if is_in_row || is_shape_open {
            let rows = Rows { function, reaching, warps: &warps };
            warps.numbers = (function.instructions.iter()).map(|instruction| rows.is_number(instruction)).collect();
        }
        warps
    }

    /// Whether an instruction computes a value that is uniform in a warp from thread indices: `threadIdx.x / 32`.
    pub fn is_number_of_warp(&self, at: usize) -> bool {
        self.is_in_row && self.has_no_lane(at)
    }

    /// Whether that holds for blocks of most shapes, and the shape is not known.
    pub fn may_be_number_of_warp(&self, at: usize) -> bool {
        self.is_shape_open && self.has_no_lane(at)
    }

    fn has_no_lane(&self, at: usize) -> bool {
        self.numbers.get(at).copied().unwrap_or(false)
    }

    /// Whether a special register is uniform in a warp, though not in a block.
    pub fn is_same_in_warp(&self, special: SpecialRegister) -> bool {
        self.is_in_row && matches!(special, SpecialRegister::TidY | SpecialRegister::TidZ)
    }

    /// Whether a `.sync` instruction involves the whole warp: its last operand, the mask, has all bits set.
    pub fn is_of_whole_warp(&self, instruction: &Instruction) -> bool {
        let mask = instruction.operands.last().and_then(|mask| self.constant(mask));
        instruction.has(Modifier::Sync)
            && instruction.guard.is_none()
            && mask.is_some_and(|mask| mask as u32 == u32::MAX)
    }

    /// The source lane of a shuffle, if all threads of the warp read the same one:
    /// `shfl.sync.idx.b32 %r1|%p1, %r2, lane, 31, -1`.
    pub fn shuffled_lane<'i>(&self, instruction: &'i Instruction) -> Option<&'i Operand> {
        let [_, _, lane, clamp, _] = &*instruction.operands else { return None };
        let is_whole = self.is_of_whole_warp(instruction) && self.constant(clamp) == Some(WHOLE_WARP);
        Some(lane).filter(|_| instruction.has(Modifier::Idx) && is_whole)
    }

    fn constant(&self, operand: &Operand) -> Option<i64> {
        match operand {
            Operand::Reg(register) => self.constants.get(register.index()).copied().flatten(),
            operand => constant(operand),
        }
    }
}

/// Whether a kernel asks for the first axis of its block alone, and calls no function that may ask for another.
fn has_one_axis(function: &PtxFunction) -> bool {
    let is_other = |operand: &Operand| {
        let mut found = false;
        for_each_part(operand, &mut |part| {
            use SpecialRegister::{NtidY, NtidZ, TidY, TidZ};
            found |= matches!(part, Operand::Special(TidY | TidZ | NtidY | NtidZ));
        });
        found
    };
    let mut all = function.instructions.iter();
    all.all(|instruction| instruction.opcode() != Opcode::Call && !instruction.operands.iter().any(is_other))
}

/// Follows values back to `threadIdx.x`.
struct Rows<'a> {
    function: &'a PtxFunction,
    reaching: &'a Reaching<'a>,
    warps: &'a Warps,
}

impl Rows<'_> {
    /// Whether no lane bit is left in the result, as in `x / 32`, `x & ~31`, and `(x >> 3) & 28`.
    fn is_number(&self, instruction: &Instruction) -> bool {
        instruction.guard.is_none() && self.lane_bits(instruction, MAX_DEPTH) == Some(0)
    }

    /// The number of low bits of a result that may hold lane bits; all bits above them are uniform in a warp.
    fn lane_bits(&self, instruction: &Instruction, depth: usize) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        let value = self.operand_bits(instruction.operands.get(1)?, depth)?;
        let constant = |index: usize| instruction.operands.get(index).and_then(|operand| self.warps.constant(operand));
        match instruction.opcode() {
            Opcode::Mov => Some(value),
            Opcode::Cvt if is_widening(instruction) => Some(value),
            // A thread index is not negative, so arithmetic and logical shifts agree.
            Opcode::Shr => Some((value - constant(2).filter(|by| (0..32).contains(by))?).max(0)),
            Opcode::Shl => Some(value + constant(2).filter(|by| (0..16).contains(by))?),
            Opcode::And => {
                let hidden = i64::from(constant(2)?.trailing_zeros());
                Some(if hidden >= value { 0 } else { value })
            }
            Opcode::Div => {
                let by = constant(2).filter(|by| *by > 0)?;
                (i64::from(by.trailing_zeros()) >= value).then_some(0)
            }
            Opcode::Bfe => (constant(2)? >= value).then_some(0),
            _ => None,
        }
    }

    fn operand_bits(&self, operand: &Operand, depth: usize) -> Option<i64> {
        match operand {
            Operand::Special(SpecialRegister::TidX) => Some(LANE_BITS),
            Operand::Reg(register) => {
                let [only] = self.reaching.all(*register) else { return None };
                let definition =
                    self.function.instructions.get(*only).filter(|definition| definition.guard.is_none())?;
                self.lane_bits(definition, depth)
            }
            _ => None,
        }
    }
}

/// A conversion that preserves a thread index.
fn is_widening(instruction: &Instruction) -> bool {
    let is_wide = |ty: &Type| matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64);
    instruction.form.modifiers.is_empty() && instruction.form.types.iter().all(is_wide)
}
