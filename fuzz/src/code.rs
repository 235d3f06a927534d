//! What compilers give: ptxas's log, PTX, cubins and their parts, fatbins.

use std::path::PathBuf;

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::gpu::Arch;
use lmem_base::source::SourceFile;
use lmem_frame::attribute;
use lmem_lints::{LintContext, UnitContext, claims, kernel_claims, option_claims};
use lmem_unit::{Artifacts, AsCompiled, NvccFlags, TranslationUnit, UnitCode, parse_messages};
use nv_code::{Calls, LineTable, LiveRanges, PtxModule, PtxasLog, SassFunction, UnitFacts};
use object::{Object, ObjectSection};
use ptx_machine::{Generated, Launch, Limits, Memory, Program};

/// A cubin with line tables and the PTX's text in it.
const WITH_LINES: &[u8] = include_bytes!("../../test-crates/machine_code/images/lines.cubin");
const PLAIN: &[u8] = include_bytes!("../../test-crates/machine_code/images/plain.cubin");

/// Architectures whose instructions are encoded in ways of their own.
const ARCHITECTURES: [u32; 6] = [50, 75, 80, 90, 100, 120];

pub fn ptxas_log(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    drop((PtxasLog::parse(&text), parse_messages(&text, "nvcc")));
}

/// PTX beside the cubin of another: what cannot be found in both is left out.
pub fn ptx(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    drop(PtxModule::parse(&text));
    let arch = Arch::new(90);
    if let Ok(facts) = nv_code::read_unit(WITH_LINES, &text, "", arch, true) {
        examine(&facts, &text, "", AsCompiled::default(), arch);
    }
}

/// Executes each kernel, forwards and backwards, with pointers for parameters and small numbers for the rest.
pub fn ptx_machine(bytes: &[u8]) {
    let Ok(module) = ptx_syntax::Module::parse(&String::from_utf8_lossy(bytes)) else { return };
    for kernel in module.functions.iter().filter(|function| function.is_entry).take(4) {
        let Ok(program) = Program::new(&module, &kernel.name) else { continue };
        drop((program.parameter_uses(), program.static_shared()));
        for reversed in [false, true] {
            let mut memory = Memory::new(Generated::new(7));
            let mut launch = Launch::new(2, 48);
            for (number, (_, input)) in (0..).zip(program.kernel().inputs()).take(64) {
                let value = match input.bytes {
                    8 => memory.parameter(number).address(),
                    _ => 3,
                };
                let size = usize::try_from(input.bytes.min(4096)).unwrap_or(0);
                let value = value.to_le_bytes();
                launch.parameters.push(value.into_iter().chain(std::iter::repeat(0)).take(size).collect());
            }
            launch.limits =
                Limits { warp_instructions: 4_000, reversed, count_accesses: reversed, ..Limits::default() };
            drop((program.run(&launch, &mut memory), memory.written()));
        }
    }
}

/// A whole cubin, which has to tell all that ptxas's log and the PTX do elsewhere.
pub fn cubin(bytes: &[u8]) {
    let Ok(header) = nv_code::CubinHeader::parse(bytes) else { return };
    let arch = header.arch();
    if let Ok(facts) = nv_code::read_machine_code(bytes, arch, false, &|_, _| None) {
        examine(&facts, "", "", AsCompiled::default(), arch);
    }
}

/// A whole cubin with parts of its sections replaced: two bytes choose the section, two the place, one the length of what follows.
/// The file's own headers stay, so that each change is read.
pub fn cubin_sections(bytes: &[u8]) {
    let Some((first, mut rest)) = bytes.split_first() else { return };
    let mut copy = if first % 2 == 0 { WITH_LINES } else { PLAIN }.to_vec();
    let Ok(file) = object::File::parse(if first % 2 == 0 { WITH_LINES } else { PLAIN }) else { return };
    let ranges: Vec<(u64, u64)> = file.sections().filter_map(|section| section.file_range()).collect();
    while let Some(([section, at_low, at_high, length], after)) = rest.split_first_chunk() {
        let (new, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        let Some((start, size)) = ranges.get(usize::from(*section) % ranges.len().max(1)) else { return };
        let at = u64::from(u16::from_le_bytes([*at_low, *at_high])) % (*size).max(1);
        let start = usize::try_from(start + at).unwrap_or(usize::MAX);
        copy.iter_mut().skip(start).zip(new).for_each(|(old, new)| *old = *new);
    }
    cubin(&copy);
}

pub fn line_program(bytes: &[u8]) {
    drop(LineTable::parse(bytes));
}

/// Machine instructions of an architecture that the first byte chooses.
pub fn instructions(bytes: &[u8]) {
    let Some((first, code)) = bytes.split_first() else { return };
    let arch = Arch::new(ARCHITECTURES[usize::from(*first) % ARCHITECTURES.len()]);
    let function = SassFunction::new(code, arch);
    let whole = 0..u32::try_from(code.len()).unwrap_or(u32::MAX);
    let entry = u32::from(*first) * 16;
    drop((function.local_instructions(), function.loops([0, entry]), function.writes()));
    let _ = (function.opcodes().count(), function.calls().count(), function.calls_through_pointers().count());
    let _ = (function.stack_alignment(whole.clone()), function.stack_decrement(whole.clone()));
    let _ = (function.stack_rounding(whole.clone()), function.moves_stack_pointer(whole.clone()));
    for calls in [Calls::Followed, Calls::Abi] {
        // Each local access may be a spill.
        let Some(ranges) = LiveRanges::new(&function, &[0, entry], *first, &|_| true, calls) else { continue };
        drop(ranges.registers());
        if let Some((at, places)) = ranges.peak(whole.clone()) {
            drop(ranges.definitions(&places, at));
        }
    }
}

/// The entries of a fatbin, unpacked, and what they hold.
pub fn fatbin(bytes: &[u8]) {
    for entry in nv_code::fatbin::entries(bytes).into_iter().flatten().flatten() {
        match entry.content {
            nv_code::fatbin::Content::Cubin(bytes) => cubin(&bytes),
            nv_code::fatbin::Content::Ptx(text) => drop(PtxModule::parse(&text)),
        }
    }
}

/// All stages behind the compilers.
pub fn examine(facts: &UnitFacts, ptx: &str, source: &str, as_compiled: AsCompiled, arch: Arch) {
    let folder = PathBuf::from("/nowhere");
    let artifacts = Artifacts {
        architecture: arch.to_string(),
        folder: folder.clone(),
        ptx: ptx.to_string(),
        as_compiled,
        ..Artifacts::default()
    };
    let flags = NvccFlags::new(Vec::new(), FlagOrigin::Assumed);
    let code = UnitCode::CudaFile { file: SourceFile::from_text("kernels/a.cu", source), flags };
    let name = "kernels/a.cu".into();
    let unit = TranslationUnit {
        name,
        package: None,
        base: folder.clone(),
        code,
        use_site: None,
        launches: Vec::new(),
        shared: Vec::new(),
        included_at: None,
    };
    let trees = cuda_syntax::SyntaxTrees::new(&unit, &artifacts, &folder);
    let about = UnitContext::new(&unit, &artifacts, facts, &trees, &[], None);
    drop(option_claims(&about));
    for frame in attribute(&trees, facts, &artifacts, None) {
        let cx = LintContext { unit: &about, frame: &frame, arch, has_spill_marks: true };
        drop((claims(&cx), kernel_claims(&cx)));
    }
}
