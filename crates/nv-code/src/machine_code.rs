//! Cubins that were compiled elsewhere: the figures of ptxas's log, reconstructed from the cubin itself.
//!
//! | ptxas's log | cubin |
//! |---|---|
//! | `Used 32 registers` | `EIATTR_REGCOUNT` |
//! | `64 bytes stack frame` | bytes subtracted from the stack pointer, plus the bytes that aligning it may cost |
//! | `44 bytes spill stores, 40 bytes spill loads` | widths of the loads and stores that are marked as spills |
//! | `128 bytes smem` | the section `.nv.shared.<function>`, less the system's reserved part |
//! | `Stack size … cannot be statically determined` | `EIATTR_MIN_STACK_SIZE` with all bits set |
//! | `Compiling entry function` | the bit 0x10 of the symbol's `st_other` |
//!
//! All figures equal the log for the 1,409 functions of the test crates' records (ptxas 12.4 to 13.5, sm_80 to sm_120)
//! and the frames of their 241 callees. The exception is spills of ptxas 12.4, which does not mark them.
//! `EIATTR_FRAME_SIZE` is not used, because it includes functions that are called through pointers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use object::read::elf::SectionHeader;

use lmem_base::diagnostic::ResourceUsage;
use lmem_base::gpu::Arch;
use ptx_syntax::{Form, Function, Instruction, Operand};

use super::cubin::{Cubin, CubinError, CubinFunction, Reader};
use super::locate::locate;
use super::ptx::{PtxFunction, PtxModule};
use super::ptxas_log::{FunctionUsage, PtxasLog};
use crate::cubin::header::CubinHeader;
use crate::cubin::nv_info::{AttributeValue, FRAME_SIZE, MAX_REGISTERS, MIN_STACK_SIZE, REGISTERS, attributes};
use crate::cubin::sass::{AccessKind, SassFunction};
use crate::unit::{KernelFacts, ReadError, UnitFacts, kernel_facts};

/// Bit of `st_other` that marks the symbol of a kernel.
const ENTRY: u8 = 0x10;

/// Minimum stack size of a function whose stack size is unknown.
const UNKNOWN_STACK: u32 = u32::MAX;

/// Symbol whose presence means that the sections for shared memory include the system's reserved part.
const RESERVED_SHARED: &[u8] = b".nv.reservedSmem";
/// Size of that reserved part, from sm_90 on.
const RESERVED_BYTES: u64 = 1024;

/// Maps a file name of the line table and the lines used there to the source file; `None` if the file is unknown.
pub type SourceFiles<'a> = &'a dyn Fn(&str, &BTreeSet<u32>) -> Option<String>;

/// Reads a cubin without ptxas's log. `marks_spills` says whether its ptxas marks spills, as 12.8 and later do; `arch`
/// is its architecture.
///
/// # Errors
/// The cubin, or the PTX in it, cannot be parsed.
pub fn read_machine_code(
    bytes: &[u8],
    arch: Arch,
    marks_spills: bool,
    files: SourceFiles<'_>,
) -> Result<UnitFacts, ReadError> {
    let mut cubin = Cubin::parse(bytes)?;
    cubin.source_lines.rename_files(files);
    let figures = Figures::read(bytes)?;
    let mut ptx = match CubinHeader::parse(bytes)?.ptx {
        Some(text) => PtxModule::parse(&text)?,
        None => PtxModule { functions: callers(&cubin, &figures, arch), ..PtxModule::default() },
    };
    locate(&mut ptx, &cubin);
    let log = log(&cubin, &figures, arch);
    let kernels: Vec<KernelFacts> =
        cubin.functions.iter().map(|function| kernel_facts(function, &cubin, &log, arch)).collect();
    Ok(UnitFacts {
        register_limit: register_limit(&cubin, &figures, &ptx),
        kernels,
        ptx,
        log,
        has_spill_marks: marks_spills || cubin.has_spill_marks,
        is_without_log: true,
    })
}

/// The attributes of functions, by mangled name.
#[derive(Debug, Default)]
struct Figures {
    registers: BTreeMap<String, u32>,
    frames: BTreeMap<String, u32>,
    stacks: BTreeMap<String, u32>,
    /// Register limits of functions.
    limits: BTreeMap<String, u32>,
    shared: BTreeMap<String, u64>,
    entries: BTreeSet<String>,
}

impl Figures {
    fn read(bytes: &[u8]) -> Result<Self, CubinError> {
        let reader = Reader::new(bytes)?;
        let mut figures = Self::default();
        let (mut names, mut has_reserved) = (Vec::new(), false);
        for symbol in reader.symbols.iter() {
            let name = reader.symbols.symbol_name(reader.endian, symbol)?;
            has_reserved |= name.starts_with(RESERVED_SHARED);
            let name = String::from_utf8_lossy(name).into_owned();
            if symbol.st_other.0 & ENTRY != 0 {
                figures.entries.insert(name.clone());
            }
            names.push(name);
        }
        if let Some((_, data)) = reader.section_data(".nv.info")? {
            for (attribute, value) in attributes(data) {
                let table = match attribute {
                    REGISTERS => &mut figures.registers,
                    FRAME_SIZE => &mut figures.frames,
                    MIN_STACK_SIZE => &mut figures.stacks,
                    _ => continue,
                };
                let found = value.of_symbol().and_then(|(symbol, number)| Some((names.get(symbol)?, number)));
                table.extend(found.map(|(name, number)| (name.clone(), number)));
            }
        }
        for section in reader.sections.iter() {
            let name = String::from_utf8_lossy(reader.sections.section_name(reader.endian, section)?).into_owned();
            if let Some(function) = name.strip_prefix(".nv.shared.") {
                let reserved = if has_reserved { RESERVED_BYTES } else { 0 };
                let bytes = section.sh_size(reader.endian).saturating_sub(reserved);
                figures.shared.insert(function.to_string(), bytes);
            } else if let Some(function) = name.strip_prefix(".nv.info.") {
                let limits = attributes(section.data(reader.endian, reader.bytes)?).filter_map(|found| match found {
                    (MAX_REGISTERS, AttributeValue::Short(limit)) => Some(u32::from(limit)),
                    _ => None,
                });
                figures.limits.extend(limits.last().map(|limit| (function.to_string(), limit)));
            }
        }
        Ok(figures)
    }
}

/// The log that ptxas would have printed.
fn log(cubin: &Cubin, figures: &Figures, arch: Arch) -> PtxasLog {
    let mut log = PtxasLog::default();
    for function in &cubin.functions {
        let sass = SassFunction::new(&function.code, arch);
        let end = function.inner.first().map_or(function.code.len() as u32, |inner| inner.code.start);
        let is_entry = figures.entries.contains(&function.name);
        let mut usage = part(function, &sass, 0..end, is_entry);
        let has_calls = sass.calls().next().is_some() || sass.calls_through_pointers().next().is_some();
        if let Some(frame) = figures.frames.get(&function.name).filter(|_| !has_calls) {
            usage.stack_frame = usage.stack_frame.max(u64::from(*frame));
        }
        usage.registers = figures.registers.get(&function.name).copied().unwrap_or(0);
        usage.shared = figures.shared.get(&function.name).copied().unwrap_or(0);
        for inner in function.inner.iter().filter(|inner| !inner.is_routine) {
            let usage = part(function, &sass, inner.code.clone(), false);
            log.callees.insert((function.name.clone(), inner.name.clone()), usage);
        }
        let stack_is_unknown = figures.stacks.get(&function.name) == Some(&UNKNOWN_STACK);
        log.functions.insert(function.name.clone(), FunctionUsage { usage, is_entry, stack_is_unknown });
    }
    log
}

/// The frame and the spills of one function, given as a range of the code.
fn part(function: &CubinFunction, sass: &SassFunction<'_>, code: Range<u32>, is_entry: bool) -> ResourceUsage {
    let marked = function.spill_marks.iter().filter(|offset| code.contains(offset));
    let spills: Vec<_> = marked.filter_map(|offset| sass.local_instruction(*offset)).collect();
    let bytes = |kind: AccessKind| {
        let spills = spills.iter().filter(|spill| spill.kind == kind);
        spills.map(|spill| u64::from(spill.bytes)).sum::<u64>()
    };
    let decrement = sass.stack_decrement(code.clone());
    // A kernel's stack starts aligned to the largest alignment it may need; `alloca` rounds the size it subtracts.
    let rounding = if is_entry || decrement == 0 { 0 } else { sass.stack_rounding(code) };
    ResourceUsage {
        stack_frame: decrement + rounding,
        spill_stores: bytes(AccessKind::Store),
        spill_loads: bytes(AccessKind::Load),
        ..ResourceUsage::default()
    }
}

/// The call graph, as PTX functions with nothing but calls, so that recursion is found without PTX text.
fn callers(cubin: &Cubin, figures: &Figures, arch: Arch) -> Vec<PtxFunction> {
    let mut callers: BTreeMap<&str, Function> = BTreeMap::new();
    let call = Arc::new(Form::parse("call.uni"));
    for function in &cubin.functions {
        let sass = SassFunction::new(&function.code, arch);
        for (offset, target) in sass.calls() {
            let around = function.inner.iter().find(|inner| inner.code.contains(&offset));
            let caller = around.map_or(function.name.as_str(), |inner| inner.name.as_str());
            let Some(callee) = function.inner.iter().find(|inner| inner.code.start == target) else { continue };
            let known = callers.entry(caller).or_insert_with(|| named(caller, figures));
            known.instructions.push(call_of(&callee.name, &call));
            callers.entry(&callee.name).or_insert_with(|| named(&callee.name, figures));
        }
    }
    callers.into_values().map(PtxFunction::from).collect()
}

fn named(name: &str, figures: &Figures) -> Function {
    Function { name: name.into(), is_entry: figures.entries.contains(name), ..Function::default() }
}

fn call_of(callee: &str, form: &Arc<Form>) -> Instruction {
    let operands = Box::new([Operand::Symbol(callee.into(), 0)]);
    Instruction { form: Arc::clone(form), guard: None, operands, first_line: 0, last_line: 0, location: None }
}

/// A register limit that the PTX does not ask for: it came from an option of ptxas or of the program that called ptxas.
fn register_limit(cubin: &Cubin, figures: &Figures, ptx: &PtxModule) -> Option<u32> {
    let is_own = |name: &str| {
        ptx.function(name).is_some_and(|function| {
            function.max_threads.is_none() && function.required_threads.is_none() && function.max_registers.is_none()
        })
    };
    let limits = cubin.functions.iter().filter(|function| is_own(&function.name));
    limits.filter_map(|function| figures.limits.get(&function.name)).copied().filter(|limit| *limit < 255).min()
}
