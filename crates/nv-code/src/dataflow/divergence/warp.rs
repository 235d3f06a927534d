//! Values that are uniform because of how warps are formed: 32 threads in a row along the first axis of the block, then
//! along the second and the third.

use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg, SpecialRegister, Type};

use super::Level;
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
    /// Rows are known to have a multiple of 32 threads.
    has_whole_warps: bool,
    /// Nothing tells the length of a row.
    is_length_open: bool,
    /// Nothing tells the shape of the block: `threadIdx.x / 32` is uniform in most of them, and not in 48 × 2 threads.
    is_shape_open: bool,
    /// By register: its constant value, if it has one.
    constants: Vec<Option<i64>>,
    /// By instruction: whether it computes the warp index or a value derived from it, and what of.
    numbers: Vec<Option<Made>>,
}

/// What a number of a warp is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// The index along the first axis: a warp has one number where it lies in one row.
    Row,
    /// The rank of the thread in its block, by which warps are formed.
    Rank,
    /// The index in a grid of rows, `blockIdx.x * blockDim.x + threadIdx.x`: warps start at multiples of 32 there only if
    /// rows do.
    Grid,
    /// An index that a loop steps: `i += gridDim.x * blockDim.x`. What is left of it in a warp depends on the step.
    Stepped,
}

/// The low bits of a value that may differ within a warp, those of the lane; all bits above them are uniform.
#[derive(Debug, Clone, Copy)]
struct Lanes {
    bits: i64,
    of: Made,
}

impl Lanes {
    fn with(self, bits: i64) -> Option<Self> {
        Some(Self { bits, ..self })
    }
}

impl Warps {
    pub fn new(function: &PtxFunction, reaching: &Reaching<'_>) -> Self {
        // `.maxntid` bounds the product of the extents, not each of them: only `.reqntid` gives the shape.
        let required = function.required_threads;
        let is_in_row = function.is_entry
            && match required {
                Some([x, y, z]) => i64::from(x) % WARP == 0 || (y == 1 && z == 1),
                // In a block with a second axis, threads of a kernel that does not ask for it would do the same work.
                None => asks_only(function, |register| register == SpecialRegister::TidX),
            };
        // A rank without the third axis is one in blocks of two axes; a kernel that does not ask for the third has them.
        let is_flat = match required {
            Some([_, _, z]) => z == 1,
            None => asks_only(function, |register| matches!(register, SpecialRegister::TidX | SpecialRegister::TidY)),
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
        let has_whole_warps = required.is_some_and(|[x, ..]| i64::from(x) % WARP == 0);
        let is_length_open = required.is_none();
        let mut warps =
            Self { is_in_row, has_whole_warps, is_length_open, is_shape_open, constants, numbers: Vec::new() };
        let rows = Rows { function, reaching, warps: &warps, is_flat };
        warps.numbers = function.instructions.iter().map(|instruction| rows.number(instruction)).collect();
        warps
    }

    /// Whether an instruction computes a value that is uniform in a warp from thread indices: `threadIdx.x / 32`.
    pub fn is_number_of_warp(&self, at: usize) -> bool {
        match self.number(at) {
            Some(Made::Rank) => true,
            Some(Made::Row) => self.is_in_row,
            Some(Made::Grid) => self.has_whole_warps,
            Some(Made::Stepped) | None => false,
        }
    }

    /// Whether that holds for blocks of most shapes, and the shape is not known.
    pub fn may_be_number_of_warp(&self, at: usize) -> bool {
        match self.number(at) {
            Some(Made::Row) => self.is_shape_open,
            Some(Made::Grid) => self.is_length_open,
            Some(Made::Stepped) => true,
            Some(Made::Rank) | None => false,
        }
    }

    fn number(&self, at: usize) -> Option<Made> {
        self.numbers.get(at).copied().flatten()
    }

    /// The level of an index along the second or third axis, if rows tell it: it is uniform in a warp that lies in one
    /// row. Rows of 32 threads and more are common, and so are those of 16.
    pub fn axis(&self, special: SpecialRegister) -> Option<Level> {
        match special {
            SpecialRegister::TidY | SpecialRegister::TidZ if self.is_in_row => Some(Level::Same),
            SpecialRegister::TidY | SpecialRegister::TidZ if self.is_shape_open => Some(Level::Unknown),
            _ => None,
        }
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

/// Whether a kernel asks for no axis of its block but some, and calls no function that may ask for another.
fn asks_only(function: &PtxFunction, is_asked: impl Fn(SpecialRegister) -> bool) -> bool {
    let is_other = |operand: &Operand| {
        let mut found = false;
        for_each_part(operand, &mut |part| {
            use SpecialRegister::{NtidY, NtidZ, TidY, TidZ};
            found |= match part {
                Operand::Special(TidY | NtidY) => !is_asked(TidY),
                Operand::Special(TidZ | NtidZ) => !is_asked(TidZ),
                _ => false,
            };
        });
        found
    };
    let mut all = function.instructions.iter();
    function.is_entry
        && all.all(|instruction| instruction.opcode() != Opcode::Call && !instruction.operands.iter().any(is_other))
}

/// Follows values back to `threadIdx.x`, or to the rank in the block.
struct Rows<'a> {
    function: &'a PtxFunction,
    reaching: &'a Reaching<'a>,
    warps: &'a Warps,
    /// Whether blocks have two axes at most.
    is_flat: bool,
}

impl Rows<'_> {
    /// What a result is made of in which no lane bit is left, as in `x / 32`, `x & ~31`, and `(x >> 3) & 28`.
    fn number(&self, instruction: &Instruction) -> Option<Made> {
        let lanes = self.lanes(instruction, MAX_DEPTH)?;
        (instruction.guard.is_none() && lanes.bits == 0).then_some(lanes.of)
    }

    fn lanes(&self, instruction: &Instruction, depth: usize) -> Option<Lanes> {
        let depth = depth.checked_sub(1)?;
        let operand = |index: usize| instruction.operands.get(index);
        if instruction.opcode() == Opcode::Mad {
            let of = if self.is_rank(instruction, depth) { Some(Made::Rank) } else { self.in_grid(instruction) };
            return of.map(|of| Lanes { bits: LANE_BITS, of });
        }
        // `x / 32` of a signed `x` adds 31 if it is negative, which a thread's index is not.
        if matches!(instruction.opcode(), Opcode::Add | Opcode::Or) {
            let (one, other) = (operand(1)?, operand(2)?);
            for (start, x) in [(one, other), (other, one)] {
                if self.is_start_of_block(start) && self.is_special(x, SpecialRegister::TidX) {
                    return Some(Lanes { bits: LANE_BITS, of: Made::Row });
                }
            }
            let value = if self.is_sign(one, depth) { other } else { one };
            let sign = if self.is_sign(one, depth) { one } else { other };
            return self.operand_lanes(value, depth).filter(|_| self.is_sign(sign, depth));
        }
        let value = self.operand_lanes(operand(1)?, depth)?;
        let constant = |index: usize| operand(index).and_then(|operand| self.warps.constant(operand));
        match instruction.opcode() {
            Opcode::Mov => Some(value),
            Opcode::Cvt if is_widening(instruction) => Some(value),
            // A thread index is not negative, so arithmetic and logical shifts agree.
            Opcode::Shr => value.with((value.bits - constant(2).filter(|by| (0..32).contains(by))?).max(0)),
            Opcode::Shl => value.with(value.bits + constant(2).filter(|by| (0..16).contains(by))?),
            Opcode::And => {
                let hidden = i64::from(constant(2)?.trailing_zeros());
                value.with(if hidden >= value.bits { 0 } else { value.bits })
            }
            Opcode::Div => {
                let by = constant(2).filter(|by| *by > 0)?;
                value.with(0).filter(|_| i64::from(by.trailing_zeros()) >= value.bits)
            }
            Opcode::Bfe => value.with(0).filter(|_| constant(2).is_some_and(|from| from >= value.bits)),
            _ => None,
        }
    }

    fn operand_lanes(&self, operand: &Operand, depth: usize) -> Option<Lanes> {
        match operand {
            Operand::Special(SpecialRegister::TidX) => Some(Lanes { bits: LANE_BITS, of: Made::Row }),
            _ => match self.definition(operand) {
                Some(definition) => self.lanes(definition, depth),
                None => self.stepped(operand, depth),
            },
        }
    }

    /// A register that begins as an index of threads and is stepped by sums of itself alone.
    fn stepped(&self, operand: &Operand, depth: usize) -> Option<Lanes> {
        let Operand::Reg(register) = operand else { return None };
        let all = self.reaching.all(*register).iter().map(|at| &self.function.instructions[*at]);
        let (steps, starts): (Vec<&Instruction>, Vec<&Instruction>) =
            all.partition(|definition| self.is_step(definition, *register));
        if steps.is_empty() || starts.is_empty() {
            return None;
        }
        let mut lanes = starts.into_iter().map(|start| self.lanes(start, depth));
        let is_index = lanes.all(|lanes| lanes.is_some_and(|lanes| lanes.bits == LANE_BITS));
        is_index.then_some(Lanes { bits: LANE_BITS, of: Made::Stepped })
    }

    /// `add.s32 %i, %i, %step`, or a copy of such a sum. A constant step takes along whole warps or none.
    fn is_step(&self, definition: &Instruction, register: Reg) -> bool {
        let is_own = |operand: &Operand| matches!(operand, Operand::Reg(own) if *own == register);
        let is_fit = |step: &Operand| self.warps.constant(step).is_none_or(|step| step % WARP == 0);
        let adds = |sum: &Instruction| match &*sum.operands {
            [_, one, other] if sum.opcode() == Opcode::Add => {
                is_own(one) && !is_own(other) && is_fit(other) || is_own(other) && !is_own(one) && is_fit(one)
            }
            _ => false,
        };
        let copied = || match &*definition.operands {
            [_, source] if definition.opcode() == Opcode::Mov => self.definition(source),
            _ => None,
        };
        adds(definition) || copied().is_some_and(adds)
    }

    /// `shr.s32 %s, %x, 31` and what is shifted out of it: zero for a thread's index.
    fn is_sign(&self, operand: &Operand, depth: usize) -> bool {
        let Some((definition, depth)) = self.definition(operand).zip(depth.checked_sub(1)) else { return false };
        let [_, value, by] = &*definition.operands else { return false };
        definition.opcode() == Opcode::Shr
            && (self.warps.constant(by) == Some(31) && self.operand_lanes(value, depth).is_some()
                || self.is_sign(value, depth))
    }

    /// `threadIdx.y * blockDim.x + threadIdx.x`, or the same of three axes.
    fn is_rank(&self, mad: &Instruction, depth: usize) -> bool {
        let [_, one, other, x] = &*mad.operands else { return false };
        let is_row = |row: &Operand| {
            self.is_special(row, SpecialRegister::TidY) && self.is_flat
                || self.definition(row).is_some_and(|row| depth > 0 && self.is_row_of_plane(row))
        };
        let is_width = |width: &Operand| self.is_special(width, SpecialRegister::NtidX);
        mad.has(Modifier::Lo)
            && self.is_special(x, SpecialRegister::TidX)
            && (is_width(one) && is_row(other) || is_width(other) && is_row(one))
    }

    /// `blockIdx.x * blockDim.x + threadIdx.x`; blocks of a constant length may be in place of `blockDim.x`.
    fn in_grid(&self, mad: &Instruction) -> Option<Made> {
        let [_, one, other, x] = &*mad.operands else { return None };
        let is_block = |operand: &Operand| self.is_special(operand, SpecialRegister::CtaidX);
        let length = if is_block(one) { other } else { one };
        if !(mad.has(Modifier::Lo) && self.is_special(x, SpecialRegister::TidX) && (is_block(one) || is_block(other))) {
            return None;
        }
        match self.warps.constant(length) {
            Some(length) if length % WARP == 0 => Some(Made::Row),
            _ => self.is_special(length, SpecialRegister::NtidX).then_some(Made::Grid),
        }
    }

    /// `blockIdx.x << 7`, with no bit below that of the lanes.
    fn is_start_of_block(&self, operand: &Operand) -> bool {
        let Some(shift) = self.definition(operand).filter(|shift| shift.opcode() == Opcode::Shl) else { return false };
        let [_, block, by] = &*shift.operands else { return false };
        self.is_special(block, SpecialRegister::CtaidX) && self.warps.constant(by) >= Some(LANE_BITS)
    }

    /// `threadIdx.z * blockDim.y + threadIdx.y`.
    fn is_row_of_plane(&self, mad: &Instruction) -> bool {
        let [_, one, other, y] = &*mad.operands else { return false };
        let is = |one: &Operand, other: &Operand| {
            self.is_special(one, SpecialRegister::TidZ) && self.is_special(other, SpecialRegister::NtidY)
        };
        mad.opcode() == Opcode::Mad
            && mad.has(Modifier::Lo)
            && self.is_special(y, SpecialRegister::TidY)
            && (is(one, other) || is(other, one))
    }

    /// Whether an operand is a special register, or a copy of one.
    fn is_special(&self, operand: &Operand, special: SpecialRegister) -> bool {
        let is = |operand: &Operand| matches!(operand, Operand::Special(known) if *known == special);
        let copied = self.definition(operand).filter(|copy| copy.opcode() == Opcode::Mov);
        is(operand) || copied.and_then(|copy| copy.operands.get(1)).is_some_and(is)
    }

    /// The only definition of a register, if nothing guards it.
    fn definition(&self, operand: &Operand) -> Option<&Instruction> {
        let Operand::Reg(register) = operand else { return None };
        let [only] = self.reaching.all(*register) else { return None };
        self.function.instructions.get(*only).filter(|definition| definition.guard.is_none())
    }
}

/// A conversion that preserves a thread index.
fn is_widening(instruction: &Instruction) -> bool {
    let is_wide = |ty: &Type| matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64);
    instruction.form.modifiers.is_empty() && instruction.form.types.iter().all(is_wide)
}
