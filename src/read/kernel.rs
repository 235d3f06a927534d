//! Joins what the log, the machine code, the line tables and the PTX say about each kernel.

use super::cubin::{Cubin, CubinError, CubinFunction};
use super::ptx::{PtxError, PtxModule};
use super::ptxas_log::PtxasLog;
use super::sass::{AccessKind, LocalInstruction, LoopRange, SassFunction};
use crate::diagnostic::ResourceUsage;

/// All that one unit gave for one target.
#[derive(Debug, Clone, Default)]
pub struct UnitFacts {
    pub kernels: Vec<KernelFacts>,
    /// Read only where a function has local memory, as nothing else needs it.
    pub ptx: PtxModule,
    pub log: PtxasLog,
    /// Whether spills can be told from arrays by ptxas's own marks.
    pub has_spill_marks: bool,
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
    /// Local loads and stores, in order of the code.
    pub accesses: Vec<LocalAccess>,
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

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Cubin(#[from] CubinError),
    #[error("the PTX has {0}")]
    Ptx(#[from] PtxError),
}

/// Reads what a unit gave. `ptx` is the text that ptxas compiled; `architecture` is 90 for sm_90; `marks_spills` tells
/// that this ptxas marks spills, as 12.8 and later do.
///
/// # Errors
/// The cubin or the PTX cannot be read at all.
pub fn read_unit(
    cubin: &[u8],
    ptx: &str,
    log: &str,
    architecture: u32,
    marks_spills: bool,
) -> Result<UnitFacts, ReadError> {
    let cubin = Cubin::parse(cubin)?;
    let log = PtxasLog::parse(log);
    let kernels: Vec<KernelFacts> =
        cubin.functions.iter().map(|function| kernel_facts(function, &cubin, &log, architecture)).collect();
    let ptx = match kernels.iter().any(KernelFacts::has_local_memory) {
        true => PtxModule::parse(ptx)?,
        false => PtxModule::default(),
    };
    Ok(UnitFacts { kernels, ptx, log, has_spill_marks: marks_spills || cubin.has_spill_marks })
}

fn kernel_facts(function: &CubinFunction, cubin: &Cubin, log: &PtxasLog, architecture: u32) -> KernelFacts {
    let logged = log.functions.get(&function.name).cloned().unwrap_or_default();
    let sass = SassFunction::new(&function.code, architecture);
    let instructions = sass.local_instructions();
    let loops = if instructions.is_empty() { Vec::new() } else { sass.loops() };
    let accesses =
        instructions.into_iter().map(|instruction| local_access(instruction, function, cubin, &loops, &sass)).collect();
    KernelFacts {
        name: function.name.clone(),
        is_entry: logged.is_entry,
        usage: logged.usage,
        stack_is_unknown: logged.stack_is_unknown,
        accesses,
    }
}

fn local_access(
    instruction: LocalInstruction,
    function: &CubinFunction,
    cubin: &Cubin,
    loops: &[LoopRange],
    sass: &SassFunction<'_>,
) -> LocalAccess {
    let offset = instruction.offset;
    let around = || loops.iter().map(|range| &range.instructions).filter(|range| range.contains(&offset));
    let innermost = around().min_by_key(|range| range.end - range.start);
    let is_spill = function.spill_marks.contains(&offset);
    let definition = (is_spill && instruction.kind == AccessKind::Store)
        .then(|| sass.definition(instruction.data, offset))
        .flatten()
        .map(|offset| Definition {
            ptx_line: ptx_line(cubin, function, offset),
            source: source_lines(cubin, function, offset),
        });
    LocalAccess {
        is_spill,
        ptx_line: ptx_line(cubin, function, offset),
        source: source_lines(cubin, function, offset),
        loop_depth: around().count() as u32,
        loop_lines: innermost.map(|range| source_lines(cubin, function, range.end - 1)).unwrap_or_default(),
        definition,
        instruction,
    }
}

fn ptx_line(cubin: &Cubin, function: &CubinFunction, offset: u32) -> Option<u32> {
    cubin.ptx_lines.row(function.base + u64::from(offset)).map(|row| row.line)
}

fn source_lines(cubin: &Cubin, function: &CubinFunction, offset: u32) -> Vec<SourceLine> {
    let chain = cubin.source_lines.chain(function.base + u64::from(offset));
    chain.into_iter().map(|row| SourceLine { file: row.file.clone(), line: row.line }).collect()
}
