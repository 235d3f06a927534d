//! The part of SASS that local memory needs: local loads and stores, branches, and the instruction that defined a
//! spilled register.
//!
//! Volta and later have 16-byte instructions, two little-endian words `lo` and `hi`. NVIDIA does not document the
//! encoding. The fields here were inferred from cubins of sm_75 to sm_120; the live tests compare them with nvdisasm's
//! text.

use std::collections::BTreeSet;
use std::ops::Range;

use lmem_base::gpu::{Arch, Gpu};
use ptx_syntax::{Graph, Jump};

use super::registers::{RegisterSet, operands};

use super::loops::SassLoops;

/// Size of an instruction, from sm_70 on.
pub const INSTRUCTION_BYTES: usize = 16;

/// The register that reads as zero and discards writes (`RZ`).
pub const ZERO_REGISTER: u8 = 255;
/// The stack pointer in the calling convention (`R1`).
pub const STACK_POINTER: u8 = 1;
/// Alignment of the stack pointer on entry. A function that needs more rounds the stack pointer down, which costs
/// bytes.
pub const STACK_ALIGNMENT: u64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    Load,
    Store,
}

/// The base of a local address; the constant offset is added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressBase {
    /// `[R1+8]`: a fixed offset in the frame.
    Stack,
    /// `[R5+8]`
    Register(u8),
    /// `[UR5+8]` or `[R5+UR6+8]`
    Uniform { uniform: u8, register: Option<u8> },
    /// `[0x8]`
    Absolute,
}

/// An `LDL` or `STL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalInstruction {
    /// Byte offset in its function.
    pub offset: u32,
    pub kind: AccessKind,
    /// Bytes per thread.
    pub bytes: u8,
    pub base: AddressBase,
    /// Constant part of the address.
    pub immediate: i32,
    /// First register that is loaded or stored.
    pub data: u8,
}

/// Instructions that end a block, without the bits of how their operands are encoded: `BRA`, `BRX`, `BRXU`, `JMX`, `EXIT`, `RET`, `KILL`.
const BRANCH: u64 = 0x147;
const BRANCH_INDIRECT: u64 = 0x149;
const BRANCH_UNIFORM_INDIRECT: u64 = 0x158;
const JUMP_INDIRECT: u64 = 0x14c;
const EXIT: u64 = 0x14d;
const RETURN: u64 = 0x150;
const KILL: u64 = 0x15b;

/// The machine code of one function.
#[derive(Debug, Clone, Copy)]
pub struct SassFunction<'a> {
    code: &'a [u8],
    gpu: &'static Gpu,
}

impl<'a> SassFunction<'a> {
    /// An incomplete instruction at the end is dropped: such a cubin is damaged, but the rest is still worth reading.
    pub fn new(code: &'a [u8], arch: Arch) -> Self {
        Self { code: &code[..code.len() / INSTRUCTION_BYTES * INSTRUCTION_BYTES], gpu: arch.gpu() }
    }

    pub(super) fn words(&self) -> impl DoubleEndedIterator<Item = (u32, u64, u64)> + 'a {
        words(self.code, 0)
    }

    /// The instructions in a range of the code.
    fn words_in(&self, part: Range<u32>) -> impl DoubleEndedIterator<Item = (u32, u64, u64)> + 'a {
        let align = |offset: u32| (offset as usize).div_ceil(INSTRUCTION_BYTES).saturating_mul(INSTRUCTION_BYTES);
        let end = align(part.end).min(self.code.len());
        let start = align(part.start).min(end);
        words(&self.code[start..end], start)
    }

    /// All local loads and stores, in order.
    pub fn local_instructions(&self) -> Vec<LocalInstruction> {
        self.words().filter_map(|(offset, lo, hi)| local_instruction(offset, lo, hi)).collect()
    }

    /// The local load or store at an offset.
    pub fn local_instruction(&self, offset: u32) -> Option<LocalInstruction> {
        let (_, lo, hi) = self.words_in(offset..offset.saturating_add(INSTRUCTION_BYTES as u32)).next()?;
        local_instruction(offset, lo, hi)
    }

    /// The loops of the code, which is entered at `entries` (see `graph`).
    pub fn loops(&self, entries: impl IntoIterator<Item = u32>) -> SassLoops {
        SassLoops::new(&self.graph(entries))
    }

    /// The control flow of the code, which is entered at its start, where it calls a part of itself, and at `entries`: functions
    /// in the section that are called through pointers.
    pub(super) fn graph(&self, entries: impl IntoIterator<Item = u32>) -> Graph {
        let called = self.calls().map(|(_, target)| target);
        let entries: BTreeSet<u32> = [0].into_iter().chain(called).chain(entries).map(index).collect();
        let mut jumps = self.jumps();
        self.follow_tables(&mut jumps, &entries);
        let entries: Vec<u32> = entries.into_iter().collect();
        Graph::of_jumps(self.code.len() / INSTRUCTION_BYTES, &jumps, &entries)
    }

    /// The number of the architecture.
    pub(super) fn number(&self) -> u32 {
        self.gpu.number
    }

    /// The instructions after which another than the next may follow. Threads that meet again (`BSYNC`) go on behind the
    /// instruction: all 3,523 `BSYNC` of a disassembly stand right before the target of a `BSSY`.
    fn jumps(&self) -> Vec<Jump> {
        let jumps = self.words().filter_map(|(offset, lo, hi)| {
            let jump = Jump { at: index(offset), targets: Vec::new(), falls_through: !is_unconditional(lo, hi) };
            match lo & 0x1ff {
                BRANCH => {
                    let target = self.relative_target(offset, lo, hi).map(index);
                    // A branch to itself is the padding behind the last instruction.
                    Some(Jump { targets: target.into_iter().filter(|target| *target != jump.at).collect(), ..jump })
                }
                EXIT | RETURN | KILL | BRANCH_INDIRECT | BRANCH_UNIFORM_INDIRECT | JUMP_INDIRECT => Some(jump),
                _ => None,
            }
        });
        jumps.collect()
    }

    /// Lets indirect branches, whose targets stand in a table, lead to the code behind them that nothing else leads to.
    fn follow_tables(&self, jumps: &mut [Jump], entries: &BTreeSet<u32>) {
        let is_indirect = |at: u32| {
            let low = self.words_in(offset(at)..offset(at + 1)).next().map(|(_, lo, _)| lo & 0x1ff);
            matches!(low, Some(BRANCH_INDIRECT | BRANCH_UNIFORM_INDIRECT | JUMP_INDIRECT))
        };
        let named: BTreeSet<u32> = jumps.iter().flat_map(|jump| jump.targets.iter().copied()).collect();
        let mut indirect = None;
        for number in 0..jumps.len() {
            let Jump { at, falls_through, .. } = jumps[number];
            if is_indirect(at) {
                indirect = Some(number);
            }
            let next = at + 1;
            if falls_through || named.contains(&next) {
                continue;
            }
            if entries.contains(&next) {
                indirect = None;
            } else if let Some(indirect) = indirect {
                jumps[indirect].targets.push(next);
            }
        }
    }

    pub(super) fn relative_target(&self, offset: u32, lo: u64, hi: u64) -> Option<u32> {
        let high = (lo >> 34) | ((hi & 0x3_ffff) << 30);
        // 48 bits, signed. Newer architectures use further low bits, where sm_8x has a register field.
        let signed = ((high << 16) as i64) >> 16;
        let low = self.gpu.low_branch_bits;
        let units = (signed << low) | bits(lo, 16, low) as i64;
        let next = i64::from(offset) + INSTRUCTION_BYTES as i64;
        u32::try_from(next.checked_add(units.checked_mul(4)?)?)
            .ok()
            .filter(|target| (*target as usize) < self.code.len())
    }

    /// Offset and low opcode bits of each instruction.
    pub fn opcodes(&self) -> impl Iterator<Item = (u32, u64)> + 'a {
        self.words().map(|(offset, lo, _)| (offset, lo & 0xfff))
    }

    /// Direct calls (`CALL.REL`, 0x944): the instruction and its target, which is encoded as a branch target.
    pub fn calls(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.words()
            .filter(|(_, lo, _)| lo & 0xfff == 0x944)
            .filter_map(|(offset, lo, hi)| Some((offset, self.relative_target(offset, lo, hi)?)))
    }

    /// Indirect calls (`CALL.REL` with a register, 0x344, and `CALL.ABS`, 0x343).
    pub fn calls_through_pointers(&self) -> impl Iterator<Item = u32> + '_ {
        self.words().filter(|(_, lo, _)| matches!(lo & 0xfff, 0x343 | 0x344)).map(|(offset, ..)| offset)
    }

    /// The definitions of each register.
    pub fn writes(&self) -> Writes {
        let mut by_register = vec![Vec::new(); usize::from(ZERO_REGISTER)];
        for (offset, lo, hi) in self.words() {
            for register in self.written(lo, hi).iter() {
                if let Some(writes) = by_register.get_mut(usize::from(register)) {
                    writes.push(offset);
                }
            }
        }
        Writes { by_register }
    }
}

/// The instructions that write each register of a function, in order.
#[derive(Debug, Clone, Default)]
pub struct Writes {
    by_register: Vec<Vec<u32>>,
}

impl Writes {
    /// The nearest instruction before `offset` that writes `register`. The scan goes back in text order and does not
    /// follow branches; it found a definition for every one of 207 spill stores that were tried.
    pub fn before(&self, register: u8, offset: u32) -> Option<u32> {
        let writes = self.by_register.get(usize::from(register))?;
        writes[..writes.partition_point(|write| *write < offset)].last().copied()
    }
}

impl SassFunction<'_> {
    /// The alignment that a range of code gives the stack pointer (`LOP3.LUT R1, R1, 0xfffffff0, RZ, 0xc0`); 0 if none.
    pub fn stack_alignment(&self, code: Range<u32>) -> u64 {
        let is_rounding = |lo: u64| {
            lo & 0xfff == 0x812 && bits(lo, 16, 8) as u8 == STACK_POINTER && bits(lo, 24, 8) as u8 == STACK_POINTER
        };
        let rounded = self.words_in(code).find(|(_, lo, _)| is_rounding(*lo));
        rounded.map_or(0, |(_, lo, _)| 1 << (lo >> 32).trailing_zeros().min(16))
    }

    /// Bytes that a range of code subtracts from the stack pointer in its prologue: `IADD3 R1, R1, -0x140, RZ`, or
    /// `VIADD` and `IADD` on newer architectures. No function was seen that subtracts two constants; `alloca` subtracts
    /// registers.
    pub fn stack_decrement(&self, code: Range<u32>) -> u64 {
        let taken = self.words_in(code).filter_map(|(_, lo, _)| {
            let is_addition = matches!(lo & 0xfff, 0x810 | 0x835 | 0x836)
                && bits(lo, 16, 8) as u8 == STACK_POINTER
                && bits(lo, 24, 8) as u8 == STACK_POINTER;
            let immediate = (lo >> 32) as u32 as i32;
            (is_addition && immediate < 0).then(|| u64::from(immediate.unsigned_abs()))
        });
        taken.into_iter().next().unwrap_or(0)
    }

    /// Bytes that aligning the stack pointer may cost a range of code, beyond the alignment that holds anyway.
    pub fn stack_rounding(&self, code: Range<u32>) -> u64 {
        self.stack_alignment(code).saturating_sub(STACK_ALIGNMENT)
    }

    /// The registers that an instruction writes; of one that is not known, the one that most write.
    fn written(&self, lo: u64, hi: u64) -> RegisterSet {
        let first = || [bits(lo, 16, 8) as u8].into_iter().filter(|register| *register != ZERO_REGISTER).collect();
        operands(self.gpu.number, lo, hi).map_or_else(first, |operands| operands.writes)
    }

    /// Whether a part of the code makes a frame of its own.
    pub fn moves_stack_pointer(&self, code: Range<u32>) -> bool {
        self.words_in(code).any(|(_, lo, hi)| self.written(lo, hi).contains(STACK_POINTER))
    }
}

/// The instructions of a piece of code that starts at offset `start`.
fn words(code: &[u8], start: usize) -> impl DoubleEndedIterator<Item = (u32, u64, u64)> {
    code.chunks_exact(INSTRUCTION_BYTES).enumerate().map(move |(index, bytes)| {
        let (lo, hi) = bytes.split_at(INSTRUCTION_BYTES / 2);
        ((start + index * INSTRUCTION_BYTES) as u32, word(lo), word(hi))
    })
}

/// Reads eight bytes; the compiler turns this copy into one load.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn bits(word: u64, start: u32, count: u32) -> u64 {
    (word >> start) & ((1 << count) - 1)
}

/// The number of an instruction in its function.
fn index(offset: u32) -> u32 {
    offset / INSTRUCTION_BYTES as u32
}

/// The offset of an instruction by its number.
fn offset(index: u32) -> u32 {
    index.saturating_mul(INSTRUCTION_BYTES as u32)
}

/// Whether the next instruction cannot follow one that jumps or leaves: neither its guard nor its operand is another predicate than
/// `PT`, it is not `BRA.U`, which has its predicate elsewhere, and not `BRA.DIV` or `BRA.CONV`, which branch only if threads of
/// the warp have, or have not, diverged.
fn is_unconditional(lo: u64, hi: u64) -> bool {
    const ALWAYS: u64 = 7;
    let is_branch = lo & 0x1ff == BRANCH;
    let has_condition = is_branch && (lo & 0xfff != 0x947 || bits(lo, 32, 2) != 0);
    bits(lo, 12, 4) == ALWAYS && bits(hi, 23, 4) == ALWAYS && !has_condition
}

fn local_instruction(offset: u32, lo: u64, hi: u64) -> Option<LocalInstruction> {
    let kind = match lo & 0xfff {
        0x983 => AccessKind::Load,
        0x387 | 0x987 => AccessKind::Store,
        _ => return None,
    };
    let register = Some(bits(lo, 24, 8) as u8).filter(|register| *register != ZERO_REGISTER);
    let uniform = (bits(hi, 27, 1) == 1).then(|| match kind {
        AccessKind::Load => bits(lo, 32, 8) as u8,
        AccessKind::Store => bits(hi, 0, 8) as u8,
    });
    let base = match (uniform, register) {
        (Some(uniform), register) => AddressBase::Uniform { uniform, register },
        (None, Some(STACK_POINTER)) => AddressBase::Stack,
        (None, Some(register)) => AddressBase::Register(register),
        (None, None) => AddressBase::Absolute,
    };
    let immediate = ((lo >> 40) as i32) << 8 >> 8;
    let data = if kind == AccessKind::Load { bits(lo, 16, 8) } else { bits(lo, 32, 8) } as u8;
    Some(LocalInstruction { offset, kind, bytes: width_bytes(hi), base, immediate, data })
}

/// Access size from the width field of loads and stores: U8, S8, U16, S16, 32, 64, 128 bits.
fn width_bytes(hi: u64) -> u8 {
    match bits(hi, 9, 3) {
        0 | 1 => 1,
        2 | 3 => 2,
        4 => 4,
        5 => 8,
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cubin::loops::SassLoop;

    fn code(words: &[(u64, u64)]) -> Vec<u8> {
        words.iter().flat_map(|(lo, hi)| [lo.to_le_bytes(), hi.to_le_bytes()].concat()).collect()
    }

    /// `STL [R1+0x50], R7` and `LDL R10, [UR34]`, as sm_90 has them.
    #[test]
    fn decodes_local_accesses() {
        let store = local_instruction(0, 0x0000_5007_0100_7387, 0x000f_e200_0010_0800).unwrap();
        assert_eq!(store.kind, AccessKind::Store);
        assert_eq!((store.base, store.immediate, store.data, store.bytes), (AddressBase::Stack, 0x50, 7, 4));
        let load = local_instruction(0, 0x0000_0022_ff0a_7983, 0x0000_a200_0810_0800).unwrap();
        assert_eq!(load.base, AddressBase::Uniform { uniform: 34, register: None });
        assert_eq!((load.data, load.bytes), (10, 4));
    }

    /// `LOP3.LUT R1, R1, 0xfffffff0, RZ, 0xc0, !PT`, as sm_90 has it.
    #[test]
    fn the_stack_pointer_may_be_rounded() {
        let bytes = code(&[(0x7918, 0), (0xffff_fff0_0101_7812, 0x000f_e400_078e_c0ff)]);
        assert_eq!(SassFunction::new(&bytes, Arch::new(90)).stack_alignment(0..32), 16);
        assert_eq!(SassFunction::new(&bytes, Arch::new(90)).stack_alignment(0..16), 0);
        assert_eq!(SassFunction::new(&bytes, Arch::new(90)).stack_rounding(0..32), 8);
    }

    /// `IADD3 R1, R1, -0x1f0, RZ`, as sm_90 has it, and an instruction that only reads R1.
    #[test]
    fn functions_with_a_frame_of_their_own_move_the_stack_pointer() {
        let bytes =
            code(&[(0x0000_5007_0100_7387, 0x000f_e200_0010_0800), (0xffff_fe10_0101_7810, 0x000f_e200_07ff_e0ff)]);
        let sass = SassFunction::new(&bytes, Arch::new(90));
        assert_eq!((sass.moves_stack_pointer(0..16), sass.moves_stack_pointer(16..32)), (false, true));
        assert_eq!((sass.stack_decrement(0..16), sass.stack_decrement(0..32)), (0, 0x1f0));
    }

    #[test]
    fn immediates_are_signed() {
        let store = local_instruction(0, 0xffff_fc07_0200_7387, 0x800).unwrap();
        assert_eq!((store.base, store.immediate), (AddressBase::Register(2), -4));
    }

    /// `BRA` at 0xeb0 to 0x4f0, as sm_90 has it, moved to offset 0x9c0 so that the target is 0.
    #[test]
    fn backward_branches_make_loops() {
        let mut words = vec![(0x7918, 0); 0x9c];
        words.push((0xffff_fff4_008c_8947, 0x000f_ea00_0383_ffff));
        let bytes = code(&words);
        let loops = SassFunction::new(&bytes, Arch::new(90)).loops([]);
        assert_eq!(loops.innermost(0x500), Some(&SassLoop { header: 0, branch: 0x9c0, depth: 1 }));
    }

    #[test]
    fn branches_of_sm_80_have_another_layout() {
        let mut words = vec![(0x7918, 0); 0x9b];
        words.push((0xffff_f640_0000_8947, 0x000f_ea00_0383_ffff));
        let bytes = code(&words);
        let loops = SassFunction::new(&bytes, Arch::new(80)).loops([]);
        assert_eq!(loops.innermost(0).map(|found| found.branch), Some(0x9b0));
    }

    /// `EXIT` and `RET`, as sm_90 has them, with and without a guard.
    #[test]
    fn what_has_a_condition_goes_on() {
        assert!(is_unconditional(0x794d, 0x000f_ea00_0380_0000));
        assert!(!is_unconditional(0x094d, 0x000f_ea00_0380_0000));
        // `BRA`, `BRA P1`, `BRA.DIV UR4` and `BRA.CONV UR6`.
        assert!(is_unconditional(0x0000_04b0_0000_7947, 0x000f_ea00_0383_ffff));
        assert!(!is_unconditional(0x0000_04b0_0000_7947, 0x000f_ea00_0083_ffff));
        assert!(!is_unconditional(0x0000_0002_0488_7947, 0x000f_ea00_0b83_ffff));
        assert!(!is_unconditional(0x0000_0033_0600_7947, 0x000f_ea00_0b83_ffff));
    }

    #[test]
    fn tables_lead_to_code_that_nothing_else_leads_to() {
        // A loop: `BRX`, two cases that go on with the branch backwards, then `EXIT`.
        let ahead = |instructions: u64| ((instructions * 4) << 16 | 0x7947, 0x0380_0000);
        let back = (0xffff_fffc_00ec_0947, 0x0383_ffff);
        let bytes = code(&[
            (0x7918, 0),
            (0x7949, 0x0383_ffff),
            ahead(2),
            (0x7918, 0),
            (0x7918, 0),
            back,
            (0x794d, 0x0380_0000),
        ]);
        let loops = SassFunction::new(&bytes, Arch::new(90)).loops([]);
        let depths: Vec<u32> = (0..7).map(|at| loops.depth(at * 16)).collect();
        assert_eq!(depths, [0, 1, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn broken_code_is_read_as_far_as_it_goes() {
        assert_eq!(SassFunction::new(&[0x83, 0x79, 0, 0], Arch::new(90)).local_instructions(), []);
    }
}
