//! Joins what the log, the machine code, the line tables and the PTX say about each kernel.

use std::ops::Range;

use lmem_base::diagnostic::ResourceUsage;
use lmem_base::gpu::Arch;

use super::cubin::{Cubin, CubinError, CubinFunction, InnerFunction};
use super::ptx::{PtxError, PtxModule};
use super::ptxas_log::PtxasLog;
use crate::cubin::SassLoops;
use crate::cubin::sass::{AccessKind, LocalInstruction, SassFunction, Writes, ZERO_REGISTER};

/// All that one unit gave for one target.
#[derive(Debug, Clone, Default)]
pub struct UnitFacts {
    pub kernels: Vec<KernelFacts>,
    /// Read only where a function has local memory, as nothing else needs it.
    pub ptx: PtxModule,
    pub log: PtxasLog,
    /// Whether spills can be told from arrays by ptxas's own marks.
    pub has_spill_marks: bool,
    /// The figures of the log were read from the cubin: there are no others to compare them with.
    pub is_without_log: bool,
    /// A limit on registers that the code was compiled with, where the cubin alone tells that.
    pub register_limit: Option<u32>,
}

/// One function that has machine code of its own: a kernel, or with `-rdc` a function that kernels call.
#[derive(Debug, Clone, Default)]
pub struct KernelFacts {
    /// Mangled.
    pub name: String,
    pub is_entry: bool,
    pub usage: ResourceUsage,
    /// ptxas says that it cannot tell the size of the stack.
    pub stack_is_unknown: bool,
    /// Local loads and stores, in order of the code, those of its callees among them.
    pub accesses: Vec<LocalAccess>,
    /// What the stack pointer is rounded to, where the code does so itself.
    pub stack_alignment: u64,
    /// Functions whose code lies in that of the kernel and that have frames of their own. ptxas makes one frame of a
    /// kernel and its callees, except of those that are called through a pointer or by themselves.
    pub callees: Vec<CalleeFacts>,
    /// Bytes that spills of the other callees move, as `(stores, loads)`: their slots are in this frame, and ptxas counts
    /// them apart.
    pub shared_spills: (u64, u64),
}

/// A function with a frame of its own, as it is compiled for one kernel.
#[derive(Debug, Clone, Default)]
pub struct CalleeFacts {
    /// Mangled.
    pub name: String,
    pub usage: ResourceUsage,
    pub stack_alignment: u64,
}

/// A local load or store with everything known about it.
#[derive(Debug, Clone)]
pub struct LocalAccess {
    pub instruction: LocalInstruction,
    /// Marked by ptxas as a spill or refill of a register.
    pub is_spill: bool,
    /// Line of the PTX that it was made from; spills inherit that of their neighbour.
    pub ptx_line: Option<u32>,
    /// Source lines, the innermost inlined function first.
    pub source: Vec<SourceLine>,
    /// Loops around it in the machine code.
    pub loop_depth: u32,
    /// Source lines of the branch that closes the innermost of them: the loop's own line, for code of a loop.
    pub loop_lines: Vec<SourceLine>,
    /// For a spill store: where the value that it parks was computed.
    pub definition: Option<Definition>,
    /// Which of [`KernelFacts::callees`] it lies in; `None` for the frame of the kernel.
    pub callee: Option<usize>,
    /// It lies in ptxas's own code for an instruction, of which the PTX knows nothing, and in the frame of that.
    pub is_in_routine: bool,
    /// A store of a register that its function has not written: what the caller left there.
    pub stores_incoming: bool,
}

/// The instruction that defined a spilled value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub ptx_line: Option<u32>,
    pub source: Vec<SourceLine>,
}

/// A line of a source file as the compiler names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    pub file: String,
    pub line: u32,
}

impl KernelFacts {
    pub fn has_local_memory(&self) -> bool {
        let usage = &self.usage;
        usage.stack_frame > 0 || usage.spill_stores > 0 || usage.spill_loads > 0 || !self.accesses.is_empty()
    }

    /// Bytes that marked spills move, as `(stores, loads)`; equal to ptxas's own figures where marks exist.
    pub fn marked_spill_bytes(&self) -> (u64, u64) {
        let sum = |kind| {
            let marked = self.accesses.iter().filter(|access| access.is_spill && access.instruction.kind == kind);
            marked.map(|access| u64::from(access.instruction.bytes)).sum()
        };
        (sum(AccessKind::Store), sum(AccessKind::Load))
    }
}

impl KernelFacts {
    /// The kernel alone: without accesses and callees.
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

/// Reads what a unit gave. `ptx` is the text that ptxas compiled; `arch` is what it was compiled for; `marks_spills` tells
/// that this ptxas marks spills, as 12.8 and later do.
///
/// # Errors
/// The cubin or the PTX cannot be read at all.
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
    let accesses = match instructions.is_empty() {
        true => Vec::new(),
        false => {
            let code = Code { function, cubin, loops: sass.loops(), writes: sass.writes(), parts: &parts };
            instructions.into_iter().map(|instruction| code.local_access(instruction)).collect()
        }
    };
    let callees = parts
        .callees
        .iter()
        .map(|(code, callee)| CalleeFacts { stack_alignment: sass.stack_alignment(code.clone()), ..callee.clone() });
    KernelFacts {
        name: function.name.clone(),
        is_entry: logged.is_entry,
        usage: logged.usage,
        stack_is_unknown: logged.stack_is_unknown,
        accesses,
        stack_alignment: sass.stack_alignment(0..parts.own_end),
        callees: callees.collect(),
        shared_spills: parts.shared_spills,
    }
}

/// The code of one section: the function's own, and that of functions it calls.
struct Parts {
    /// Starts of all functions in the section, in order.
    starts: Vec<u32>,
    own_end: u32,
    /// Those with a frame of their own.
    callees: Vec<(Range<u32>, CalleeFacts)>,
    /// ptxas's own; whether they use the kernel's frame.
    routines: Vec<(Range<u32>, bool)>,
    /// Bytes that spills of the others move, as `(stores, loads)`.
    shared_spills: (u64, u64),
}

impl Parts {
    fn new(function: &CubinFunction, log: &PtxasLog, sass: &SassFunction<'_>) -> Self {
        let starts: Vec<u32> = std::iter::once(0).chain(function.inner.iter().map(|inner| inner.code.start)).collect();
        let usage = |inner: &InnerFunction| log.callees.get(&(function.name.clone(), inner.name.clone())).copied();
        let own_frame = log.functions.get(&function.name).map_or(0, |own| own.usage.stack_frame);
        // Who has no frame and leaves the stack pointer where it is has its slots where the caller's are.
        let is_sharing = |inner: &InnerFunction| {
            let frame = usage(inner).map_or(0, |usage| usage.stack_frame);
            own_frame > 0 && frame == 0 && !sass.moves_stack_pointer(inner.code.clone())
        };
        let (sharing, others): (Vec<_>, Vec<_>) = function.inner.iter().partition(|inner| is_sharing(inner));
        let routine = |inner: &InnerFunction| inner.is_routine.then(|| (inner.code.clone(), is_sharing(inner)));
        let callees = others.iter().filter_map(|inner| {
            let usage = usage(inner)?;
            let has_frame = usage.stack_frame > 0 || usage.spill_stores > 0 || usage.spill_loads > 0;
            let callee = CalleeFacts { name: inner.name.clone(), usage, stack_alignment: 0 };
            has_frame.then(|| (inner.code.clone(), callee))
        });
        let own_end = starts.get(1).copied().unwrap_or(function.code.len() as u32);
        let routines = function.inner.iter().filter_map(routine).collect();
        // The log has no figures of routines; the marks stand for them.
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
        Self { own_end, callees: callees.collect(), routines, shared_spills, starts }
    }

    fn callee(&self, offset: u32) -> Option<usize> {
        let next = self.callees.partition_point(|(code, _)| code.start <= offset);
        next.checked_sub(1).filter(|index| self.callees[*index].0.contains(&offset))
    }

    /// For an instruction in a routine, whether that uses the kernel's frame.
    fn routine(&self, offset: u32) -> Option<bool> {
        let next = self.routines.partition_point(|(code, _)| code.start <= offset);
        let (_, is_sharing) = self.routines[..next].last().filter(|(code, _)| code.contains(&offset))?;
        Some(*is_sharing)
    }

    /// Where the function starts that an instruction lies in.
    fn start(&self, offset: u32) -> u32 {
        self.starts[..self.starts.partition_point(|start| *start <= offset)].last().copied().unwrap_or(0)
    }
}

/// What each local access of a function is looked at with.
struct Code<'a> {
    function: &'a CubinFunction,
    cubin: &'a Cubin,
    loops: SassLoops,
    writes: Writes,
    parts: &'a Parts,
}

impl Code<'_> {
    fn local_access(&self, instruction: LocalInstruction) -> LocalAccess {
        let (offset, parts) = (instruction.offset, self.parts);
        let is_spill = self.function.spill_marks.contains(&offset);
        let is_store = instruction.kind == AccessKind::Store;
        let routine = parts.routine(offset);
        // A routine has no lines: those of the table are of what stands before it.
        let lines = |offset| match routine {
            Some(true) => (None, Vec::new()),
            _ => (self.ptx_line(offset), self.source_lines(offset)),
        };
        let written = self.writes.before(instruction.data, offset).filter(|_| is_store);
        let definition = written.filter(|_| is_spill).map(lines);
        let (ptx_line, source) = lines(offset);
        let innermost = self.loops.innermost(offset);
        LocalAccess {
            is_spill,
            ptx_line,
            source,
            loop_depth: self.loops.depth(offset),
            loop_lines: innermost.map(|range| self.source_lines(range.end - 1)).unwrap_or_default(),
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

    fn ptx_line(&self, offset: u32) -> Option<u32> {
        self.cubin.ptx_lines.row(self.address(offset)).map(|row| row.line)
    }

    fn source_lines(&self, offset: u32) -> Vec<SourceLine> {
        let chain = self.cubin.source_lines.chain(self.address(offset));
        let known = chain.into_iter().filter(|row| !row.file.is_empty());
        known.map(|row| SourceLine { file: row.file.to_string(), line: row.line }).collect()
    }

    fn address(&self, offset: u32) -> u64 {
        self.function.base + u64::from(offset)
    }
}
