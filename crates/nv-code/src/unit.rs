//! Combines log, machine code, line tables and PTX into the facts of each kernel.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use lmem_base::chain::Chain;
use lmem_base::diagnostic::ResourceUsage;
use lmem_base::gpu::Arch;

use super::cubin::{Cubin, CubinError, CubinFunction, InnerFunction};
use super::ptx::{PtxError, PtxModule};
use super::ptxas_log::PtxasLog;
use crate::cubin::SassLoops;
use crate::cubin::live_ranges::{Calls, LiveRanges};
use crate::cubin::sass::{AccessKind, LocalInstruction, SassFunction, Writes, ZERO_REGISTER};
use crate::pressure::{RegisterPressure, pressure};
use crate::source_lines::{Definition, SourceLine, SourceLines};

/// All facts of one translation unit for one target.
#[derive(Debug, Clone, Default)]
pub struct UnitFacts {
    pub kernels: Vec<KernelFacts>,
    /// Empty unless a function has local memory, as nothing else needs the PTX.
    pub ptx: PtxModule,
    pub log: PtxasLog,
    /// Whether ptxas's own marks tell spills from arrays.
    pub has_spill_marks: bool,
    /// There was no log: its figures were read from the cubin, so there are no others to compare with.
    pub is_without_log: bool,
    /// A register limit that the code was compiled with, if only the cubin tells.
    pub register_limit: Option<u32>,
}

/// One function with its own section: a kernel, or with `-rdc` a device function.
#[derive(Debug, Clone, Default)]
pub struct KernelFacts {
    /// Mangled.
    pub name: String,
    pub is_entry: bool,
    pub usage: ResourceUsage,
    /// ptxas reports that it cannot determine the stack size.
    pub stack_is_unknown: bool,
    /// Local loads and stores in code order, those of callees included.
    pub accesses: Vec<LocalAccess>,
    /// The alignment of the stack pointer, if the code aligns it explicitly.
    pub stack_alignment: u64,
    /// Callees whose code lies in the kernel's section and that have their own frames. ptxas merges the frames of a
    /// kernel and its callees, except for recursive callees and those called through pointers.
    pub callees: Vec<CalleeFacts>,
    /// Bytes moved by spills of the other callees, as `(stores, loads)`. Their slots are in this frame, but ptxas
    /// counts them separately.
    pub shared_spills: (u64, u64),
    /// Where a kernel that spills needs most registers, if its code is known well enough.
    pub pressure: Option<RegisterPressure>,
}

/// A function with its own frame, as compiled for one kernel.
#[derive(Debug, Clone, Default)]
pub struct CalleeFacts {
    /// Mangled.
    pub name: String,
    pub usage: ResourceUsage,
    pub stack_alignment: u64,
    /// Where it needs most registers, if it spills and its code is known well enough.
    pub pressure: Option<RegisterPressure>,
}

/// A local load or store with everything known about it.
#[derive(Debug, Clone)]
pub struct LocalAccess {
    pub instruction: LocalInstruction,
    /// Marked by ptxas as a spill or refill of a register.
    pub is_spill: bool,
    /// PTX line of the instruction; a spill inherits the line of its neighbour.
    pub ptx_line: Option<u32>,
    /// Source lines of the inline chain, innermost first.
    pub source: SourceLines,
    /// Number of loops around the access in the machine code.
    pub loop_depth: u32,
    /// Source lines of the branch that closes the innermost loop, which are those of the loop statement.
    pub loop_lines: SourceLines,
    /// For a spill store, where the spilled value was computed.
    pub definition: Option<Definition>,
    /// Index in [`KernelFacts::callees`]; `None` for the frame of the kernel.
    pub callee: Option<usize>,
    /// In a routine that ptxas generated for an instruction: unknown to the PTX, and in that routine's own frame.
    pub is_in_routine: bool,
    /// Stores a register that the function has not written, so it still holds the caller's value.
    pub stores_incoming: bool,
}

impl KernelFacts {
    pub fn has_local_memory(&self) -> bool {
        let usage = &self.usage;
        usage.stack_frame > 0 || usage.spill_stores > 0 || usage.spill_loads > 0 || !self.accesses.is_empty()
    }

    /// Bytes moved by marked spills, as `(stores, loads)`; equal to ptxas's own figures where marks exist.
    pub fn marked_spill_bytes(&self) -> (u64, u64) {
        let sum = |kind| {
            let marked = self.accesses.iter().filter(|access| access.is_spill && access.instruction.kind == kind);
            marked.map(|access| u64::from(access.instruction.bytes)).sum()
        };
        (sum(AccessKind::Store), sum(AccessKind::Load))
    }
}

impl KernelFacts {
    /// A copy without accesses and callees.
    pub fn without_code(&self) -> Self {
        Self {
            name: self.name.clone(),
            is_entry: self.is_entry,
            usage: self.usage,
            stack_is_unknown: self.stack_is_unknown,
            accesses: Vec::new(),
            stack_alignment: self.stack_alignment,
            callees: Vec::new(),
            shared_spills: self.shared_spills,
            pressure: self.pressure.clone(),
        }
    }
}

impl CalleeFacts {
    /// The callee as a function of its own, without its accesses.
    pub fn as_function(&self) -> KernelFacts {
        KernelFacts {
            name: self.name.clone(),
            usage: self.usage,
            stack_alignment: self.stack_alignment,
            pressure: self.pressure.clone(),
            ..KernelFacts::default()
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Cubin(#[from] CubinError),
    #[error("the PTX has {0}")]
    Ptx(#[from] PtxError),
}

/// Reads the outputs of one unit. `ptx` is the text that ptxas compiled; `arch` is the architecture; `marks_spills`
/// says whether this ptxas marks spills, as 12.8 and later do.
///
/// # Errors
/// The cubin or the PTX cannot be parsed.
pub fn read_unit(cubin: &[u8], ptx: &str, log: &str, arch: Arch, marks_spills: bool) -> Result<UnitFacts, ReadError> {
    let cubin = Cubin::parse(cubin)?;
    let log = PtxasLog::parse(log);
    let kernels: Vec<KernelFacts> =
        cubin.functions.iter().map(|function| kernel_facts(function, &cubin, &log, arch)).collect();
    let ptx = match kernels.iter().any(KernelFacts::has_local_memory) {
        true => PtxModule::parse(ptx)?,
        false => PtxModule::default(),
    };
    let has_spill_marks = marks_spills || cubin.has_spill_marks;
    Ok(UnitFacts { kernels, ptx, log, has_spill_marks, is_without_log: false, register_limit: None })
}

pub(super) fn kernel_facts(function: &CubinFunction, cubin: &Cubin, log: &PtxasLog, arch: Arch) -> KernelFacts {
    let logged = log.functions.get(&function.name).cloned().unwrap_or_default();
    let sass = SassFunction::new(&function.code, arch);
    let instructions = sass.local_instructions();
    let parts = Parts::new(function, log, &sass);
    let has_spills = !function.spill_marks.is_empty() || logged.usage.spilled() > 0;
    let ranges = has_spills.then(|| {
        let registers = u8::try_from(logged.usage.registers).unwrap_or(u8::MAX);
        let is_spill = |offset: u32| function.spill_marks.contains(&offset);
        LiveRanges::new(&sass, &parts.starts, registers, &is_spill, Calls::Followed)
    });
    let ranges = ranges.flatten();
    let computed = ranges.as_ref().map(|ranges| computed_spills(ranges, &instructions, function));
    let code = Code {
        function,
        cubin,
        loops: if instructions.is_empty() { SassLoops::default() } else { sass.loops(parts.starts.iter().copied()) },
        writes: if instructions.is_empty() { Writes::default() } else { sass.writes() },
        computed,
        parts: &parts,
        lines: RefCell::default(),
    };
    let pressure_of = |parts: &mut dyn Iterator<Item = Range<u32>>| {
        pressure(ranges.as_ref()?, function, parts, &|offset| code.lines(offset))
    };
    let callees = parts.callees.iter().map(|(part, callee)| CalleeFacts {
        stack_alignment: sass.stack_alignment(part.clone()),
        pressure: pressure_of(&mut std::iter::once(part.clone())),
        ..callee.clone()
    });
    KernelFacts {
        name: function.name.clone(),
        is_entry: logged.is_entry,
        usage: logged.usage,
        stack_is_unknown: logged.stack_is_unknown,
        accesses: instructions.into_iter().map(|instruction| code.local_access(instruction)).collect(),
        stack_alignment: sass.stack_alignment(0..parts.own_end),
        callees: callees.collect(),
        shared_spills: parts.shared_spills,
        pressure: pressure_of(&mut parts.ranges().filter(|part| parts.callee(part.start).is_none())),
    }
}

/// By spill store, what computed the value that it stores; of several ways the last before the store, or else the last.
fn computed_spills(
    ranges: &LiveRanges,
    instructions: &[LocalInstruction],
    function: &CubinFunction,
) -> HashMap<u32, Option<u32>> {
    let is_store =
        |local: &&LocalInstruction| local.kind == AccessKind::Store && function.spill_marks.contains(&local.offset);
    let stores: Vec<&LocalInstruction> = instructions.iter().filter(is_store).collect();
    let definitions = ranges.definitions_of_reads(stores.iter().map(|store| (store.data, store.offset)));
    let one = |(store, definitions): (&LocalInstruction, Vec<u32>)| {
        let before = definitions.partition_point(|definition| *definition < store.offset);
        (store.offset, definitions[..before].last().or(definitions.last()).copied())
    };
    stores.into_iter().zip(definitions).map(one).collect()
}

/// The layout of one section: the function's own code, then that of its callees.
struct Parts {
    /// Start offsets of all functions in the section, in order.
    starts: Vec<u32>,
    own_end: u32,
    /// End of the section.
    end: u32,
    /// Callees with their own frame.
    callees: Vec<(Range<u32>, CalleeFacts)>,
    /// Routines generated by ptxas; true if a routine uses the kernel's frame.
    routines: Vec<(Range<u32>, bool)>,
    /// Bytes moved by spills of the other callees, as `(stores, loads)`.
    shared_spills: (u64, u64),
}

impl Parts {
    fn new(function: &CubinFunction, log: &PtxasLog, sass: &SassFunction<'_>) -> Self {
        let starts: Vec<u32> = std::iter::once(0).chain(function.inner.iter().map(|inner| inner.code.start)).collect();
        let usage = |inner: &InnerFunction| log.callees.get(&(function.name.clone(), inner.name.clone())).copied();
        let own_frame = log.functions.get(&function.name).map_or(0, |own| own.usage.stack_frame);
        // A callee without a frame that does not move the stack pointer has its spill slots in the caller's frame.
        let is_sharing = |inner: &InnerFunction| {
            let frame = usage(inner).map_or(0, |usage| usage.stack_frame);
            own_frame > 0 && frame == 0 && !sass.moves_stack_pointer(inner.code.clone())
        };
        let (sharing, others): (Vec<_>, Vec<_>) = function.inner.iter().partition(|inner| is_sharing(inner));
        let routine = |inner: &InnerFunction| inner.is_routine.then(|| (inner.code.clone(), is_sharing(inner)));
        let callees = others.iter().filter_map(|inner| {
            let usage = usage(inner)?;
            let has_frame = usage.stack_frame > 0 || usage.spill_stores > 0 || usage.spill_loads > 0;
            let callee = CalleeFacts { name: inner.name.clone(), usage, ..CalleeFacts::default() };
            has_frame.then(|| (inner.code.clone(), callee))
        });
        let end = function.code.len() as u32;
        let own_end = starts.get(1).copied().unwrap_or(end);
        let routines = function.inner.iter().filter_map(routine).collect();
        // The log has no figures for routines, so the marked accesses are counted.
        let marked = |inner: &InnerFunction, kind: AccessKind| {
            let marks = function.spill_marks.range(inner.code.clone());
            let spills = marks.filter_map(|offset| sass.local_instruction(*offset)).filter(|spill| spill.kind == kind);
            spills.map(|spill| u64::from(spill.bytes)).sum::<u64>()
        };
        let shared = sharing.iter().map(|inner| match usage(inner) {
            Some(usage) => (usage.spill_stores, usage.spill_loads),
            None => (marked(inner, AccessKind::Store), marked(inner, AccessKind::Load)),
        });
        let shared_spills = shared.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Self { own_end, end, callees: callees.collect(), routines, shared_spills, starts }
    }

    /// The code of each function in the section.
    fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        let ends = self.starts.iter().skip(1).copied().chain([self.end]);
        self.starts.iter().copied().zip(ends).map(|(start, end)| start..end)
    }

    fn callee(&self, offset: u32) -> Option<usize> {
        let next = self.callees.partition_point(|(code, _)| code.start <= offset);
        next.checked_sub(1).filter(|index| self.callees[*index].0.contains(&offset))
    }

    /// For an instruction in a routine, whether the routine uses the kernel's frame.
    fn routine(&self, offset: u32) -> Option<bool> {
        let next = self.routines.partition_point(|(code, _)| code.start <= offset);
        let (_, is_sharing) = self.routines[..next].last().filter(|(code, _)| code.contains(&offset))?;
        Some(*is_sharing)
    }

    /// Start of the function that contains an instruction.
    fn start(&self, offset: u32) -> u32 {
        self.starts[..self.starts.partition_point(|start| *start <= offset)].last().copied().unwrap_or(0)
    }
}

/// The context for examining the local accesses of a function.
struct Code<'a> {
    function: &'a CubinFunction,
    cubin: &'a Cubin,
    loops: SassLoops,
    writes: Writes,
    /// What computed the values that spills store, where live ranges are known.
    computed: Option<HashMap<u32, Option<u32>>>,
    parts: &'a Parts,
    /// Source lines by row of the line table.
    lines: RefCell<HashMap<usize, SourceLines>>,
}

impl Code<'_> {
    fn local_access(&self, instruction: LocalInstruction) -> LocalAccess {
        let (offset, parts) = (instruction.offset, self.parts);
        let is_spill = self.function.spill_marks.contains(&offset);
        let is_store = instruction.kind == AccessKind::Store;
        let routine = parts.routine(offset);
        // A routine has no lines of its own: the table repeats those of the code before it.
        let lines = |offset| match routine {
            Some(true) => (None, SourceLines::default()),
            _ => (self.ptx_line(offset), self.source_lines(offset)),
        };
        let written = self.writes.before(instruction.data, offset).filter(|_| is_store);
        let computed = match &self.computed {
            Some(computed) => computed.get(&offset).copied().flatten(),
            None => written,
        };
        let definition = computed.filter(|_| is_spill).map(lines);
        let (ptx_line, source) = lines(offset);
        let innermost = self.loops.innermost(offset);
        LocalAccess {
            is_spill,
            ptx_line,
            source,
            loop_depth: self.loops.depth(offset),
            loop_lines: innermost.map(|found| self.source_lines(found.branch)).unwrap_or_default(),
            definition: definition.map(|(ptx_line, source)| Definition { ptx_line, source }),
            callee: parts.callee(offset),
            is_in_routine: routine == Some(false),
            stores_incoming: is_store
                && !is_spill
                && instruction.data != ZERO_REGISTER
                && written.is_none_or(|written| written < parts.start(offset)),
            instruction,
        }
    }

    /// The lines of an instruction. A routine has none of its own: the table repeats those of the code before it.
    fn lines(&self, offset: u32) -> (Option<u32>, SourceLines) {
        match self.parts.routine(offset) {
            Some(_) => (None, SourceLines::default()),
            None => (self.ptx_line(offset), self.source_lines(offset)),
        }
    }

    fn ptx_line(&self, offset: u32) -> Option<u32> {
        self.cubin.ptx_lines.row(self.address(offset)).map(|row| row.line)
    }

    fn source_lines(&self, offset: u32) -> SourceLines {
        let table = &self.cubin.source_lines;
        let mut lines = SourceLines::default();
        // From the first row that is known, or from the outermost, to the innermost.
        let mut unknown = Vec::new();
        for (number, row) in table.chain(self.address(offset)) {
            if let Some(known) = self.lines.borrow().get(&number) {
                lines = known.clone();
                break;
            }
            unknown.push((number, row));
        }
        for (number, row) in unknown.into_iter().rev() {
            if !row.file.is_empty() {
                lines = Chain::new(SourceLine { file: Arc::clone(&row.file), line: row.line }, lines);
            }
            self.lines.borrow_mut().insert(number, lines.clone());
        }
        lines
    }

    fn address(&self, offset: u32) -> u64 {
        self.function.base + u64::from(offset)
    }
}
