//! Validates the machine against a GPU: runs the same kernels on the same input, and compares all results.
//!
//! | to | run |
//! |---|---|
//! | make cubins | `judge make FOLDER PTXAS [FILES.ptx…]` |
//! | compare on a GPU | `judge run FOLDER` |
//! | check that the machine supports all programs | `judge self` |
//!
//! `make` needs a toolkit and no GPU; `run` only needs a driver. Single-instruction kernels get operands that are
//! critical for rounding and overflow, and random ones. Kernels from files run on memory with made-up contents. They
//! are compared if the machine completes them without undefined behaviour.

mod programs;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use programs::{Kind, Near, Single};
use ptx_machine::{Class, End, Events, Generated, Launch, Memory, Origin, Program};
use ptx_syntax::{Module, Type};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const THREADS: usize = 4096;
const BLOCK: u32 = 128;
const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";
/// Limit on the size of a buffer on the GPU.
const LARGEST: i64 = 1 << 22;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["self"] => itself(),
        ["make", folder, ptxas, ref files @ ..] => make(Path::new(folder), ptxas, files),
        ["run", folder] => run(Path::new(folder)),
        _ => Err("judge self | make FOLDER PTXAS [FILES] | run FOLDER".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn text_of_all(all: &[Single]) -> String {
    let kernels = all.iter().enumerate().map(|(number, single)| single.kernel(&format!("p{number}")));
    std::iter::once(HEADER.to_string()).chain(kernels).collect()
}

/// Four words for each thread.
fn input(single: &Single, number: usize) -> Vec<u64> {
    let mut state = number as u64 + 1;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let mut words = vec![0; THREADS * 4];
    for thread in 0..THREADS {
        for (slot, kind) in single.operands.iter().enumerate() {
            let special = kind.special();
            let pick = random();
            // The first threads get all pairs of special operands.
            let exact = match slot {
                0 => thread / special.len().max(1) % special.len(),
                1 => thread % special.len(),
                _ => pick as usize % special.len(),
            };
            let is_special = thread < THREADS / 2 || pick >> 62 == 0;
            let any = special[if thread < THREADS / 2 { exact } else { (pick >> 32) as usize % special.len() }];
            words[thread * 4 + slot] = if is_special { any } else { kind.random(random()) };
        }
    }
    words
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The results of the machine: two words for each thread.
fn machine(module: &Module, number: usize, words: &[u64]) -> Outcome<Vec<u64>> {
    let program = Program::new(module, &format!("p{number}"))?;
    let mut memory = Memory::default();
    let (input, output) = (memory.parameter(0), memory.parameter(1));
    memory.fill(input, 0, &bytes_of(words))?;
    let launch = Launch::new(THREADS as u32 / BLOCK, BLOCK)
        .parameter(input.address().to_le_bytes())
        .parameter(output.address().to_le_bytes());
    let outcome = program.run(&launch, &mut memory);
    if outcome.end != End::Completed {
        return Err(outcome.end.to_string().into());
    }
    let bytes = memory.bytes(output, 0, THREADS * 16)?;
    Ok(bytes.chunks(8).map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))).collect())
}

fn itself() -> Outcome<()> {
    let all = programs::all();
    let module = Module::parse(&text_of_all(&all))?;
    let mut missing = 0;
    for (number, single) in all.iter().enumerate() {
        if let Err(error) = machine(&module, number, &input(single, number)) {
            println!("{}: {error}", single.text);
            missing += 1;
        }
    }
    println!("{} programs, {missing} not known", all.len());
    Ok(())
}

fn assemble(ptxas: &str, ptx: &Path, cubin: &Path) -> Outcome<String> {
    let output = Command::new(ptxas).args(["-arch=sm_90", "-fmad=false", "-o"]).arg(cubin).arg(ptx).output()?;
    Ok(if output.status.success() { String::new() } else { String::from_utf8_lossy(&output.stderr).into_owned() })
}

fn make(folder: &Path, ptxas: &str, files: &[&str]) -> Outcome<()> {
    std::fs::create_dir_all(folder)?;
    let ptx = folder.join("programs.ptx");
    std::fs::write(&ptx, text_of_all(&programs::all()))?;
    let errors = assemble(ptxas, &ptx, &folder.join("programs.cubin"))?;
    if !errors.is_empty() {
        return Err(errors.into());
    }
    for (number, file) in files.iter().enumerate() {
        let ptx = folder.join(format!("kernels{number}.ptx"));
        std::fs::copy(file, &ptx)?;
        if !assemble(ptxas, &ptx, &folder.join(format!("kernels{number}.cubin")))?.is_empty() {
            println!("{file} does not assemble");
            std::fs::remove_file(ptx)?;
        }
    }
    Ok(())
}

fn run(folder: &Path) -> Outcome<()> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    println!("{}", context.name()?);
    singles(&context, &stream, folder)?;
    let mut files: Vec<_> = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files
        .retain(|path| path.extension().is_some_and(|extension| extension == "ptx") && !path.ends_with("programs.ptx"));
    files.sort();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in files {
        if let Err(error) = kernels(&context, &stream, &path, &mut counts) {
            println!("{}: {error}", path.display());
        }
    }
    println!("kernels: {counts:?}");
    Ok(())
}

fn singles(context: &Arc<CudaContext>, stream: &Arc<CudaStream>, folder: &Path) -> Outcome<()> {
    let all = programs::all();
    let text = std::fs::read_to_string(folder.join("programs.ptx"))?;
    let parsed = Module::parse(&text)?;
    let module = context.load_module(Ptx::from_file(folder.join("programs.cubin")))?;
    let (mut equal, mut near, mut bad) = (0, 0, 0);
    for (number, single) in all.iter().enumerate() {
        let words = input(single, number);
        let function = module.load_function(&format!("p{number}"))?;
        let device = stream.clone_htod(&words)?;
        let mut output = stream.alloc_zeros::<u64>(THREADS * 2)?;
        let config =
            LaunchConfig { grid_dim: (THREADS as u32 / BLOCK, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(&function);
        launch.arg(&device).arg(&mut output);
        // SAFETY: each thread reads four words and writes two, and the buffers hold as many for every thread.
        unsafe { launch.launch(config)? };
        let theirs = stream.clone_dtoh(&output)?;
        let ours = machine(&parsed, number, &words)?;
        let differ = |thread: &usize| {
            let at = *thread * 2;
            !is_near(single, words[*thread * 4], theirs[at], ours[at]) || theirs[at + 1] != ours[at + 1]
        };
        let wrong: Vec<usize> = (0..THREADS).filter(differ).collect();
        match (&wrong[..], theirs == ours) {
            ([], true) => equal += 1,
            ([], false) => near += 1,
            ([first, ..], _) => {
                bad += 1;
                println!("{}: {} of {THREADS} differ", single.text, wrong.len());
                for thread in wrong.iter().step_by(wrong.len().div_ceil(4)).chain([first]).take(5) {
                    let (at, from) = (*thread * 2, *thread * 4);
                    let operands = &words[from..from + single.operands.len()];
                    println!(
                        "    {operands:x?}: GPU {:x} {}, machine {:x} {}",
                        theirs[at],
                        theirs[at + 1],
                        ours[at],
                        ours[at + 1]
                    );
                }
            }
        }
    }
    println!("{} programs: {equal} equal, {near} near, {bad} different", all.len());
    Ok(())
}

fn is_near(single: &Single, operand: u64, a: u64, b: u64) -> bool {
    if a == b {
        return true;
    }
    let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    let (wide_x, wide_y) = (f64::from_bits(a), f64::from_bits(b));
    match single.near {
        // The ISA does not specify which NaN a double result is.
        Near::Equal => single.result == Kind::Double && wide_x.is_nan() && wide_y.is_nan(),
        Near::Ulp(ulps) => (a as u32).abs_diff(b as u32) <= ulps as u32 || (x.is_nan() && y.is_nan()),
        // The ISA does not specify the error of sines and cosines beyond 100π.
        Near::Absolute(error) if error > 1e-6 && f32::from_bits(operand as u32).abs() > 314.0 => true,
        Near::Absolute(error) => (x - y).abs() <= error * x.abs().max(1.0) || (x.is_nan() && y.is_nan()),
        Near::Relative(error) if single.result == Kind::Single => {
            f64::from((x - y).abs()) <= error * f64::from(x.abs()) || (x.is_nan() && y.is_nan())
        }
        Near::Relative(error) => {
            (wide_x - wide_y).abs() <= error * wide_x.abs() || (wide_x.is_nan() && wide_y.is_nan())
        }
        Near::HalfUlp(ulps) => (a as u16).abs_diff(b as u16) <= ulps as u16,
    }
}

/// A launch of a kernel whose parameters are numbers and pointers to memory without pointers.
fn launch(program: &Program, memory: &mut Memory) -> (Launch, Vec<(usize, usize, u32)>) {
    let kernel = program.kernel();
    let threads = kernel.required_thread_count().or(kernel.max_thread_count()).unwrap_or(64).min(64);
    let mut launch = Launch::new(2, threads);
    launch.dynamic_shared = 16 << 10;
    launch.limits.warp_instructions = 1_000_000;
    let mut pointers = Vec::new();
    let uses = program.parameter_uses();
    for (number, (_, input)) in kernel.inputs().enumerate() {
        let mut bytes = vec![0; input.bytes as usize];
        for used in uses.iter().filter(|used| used.parameter as usize == number) {
            let is_pointer = used.bytes == 8
                && (used.class == Class::Pointer || (used.class == Class::Unknown || input.pointer.is_some()));
            let value = match used.class {
                _ if is_pointer => {
                    let count = pointers.len() as u32;
                    pointers.push((number, used.offset as usize, count));
                    memory.parameter(count).address()
                }
                Class::Float(Type::F64) => 1.5f64.to_bits(),
                Class::Float(_) => u64::from(1.5f32.to_bits()),
                // More than the number of threads, so that rows do not overlap.
                _ => 129,
            };
            if let Some(slot) = bytes.get_mut(used.offset as usize..(used.offset + used.bytes) as usize) {
                slot.copy_from_slice(&value.to_le_bytes()[..used.bytes as usize]);
            }
        }
        launch.parameters.push(bytes);
    }
    (launch, pointers)
}

fn kernels(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    path: &Path,
    counts: &mut BTreeMap<&'static str, usize>,
) -> Outcome<()> {
    let module = Module::parse(&std::fs::read_to_string(path)?)?;
    for kernel in module.functions.iter().filter(|function| function.is_entry) {
        let program = Program::new(&module, &kernel.name)?;
        let mut memory = Memory::new(Generated::new(7));
        let (launch, pointers) = launch(&program, &mut memory);
        let outcome = program.run(&launch, &mut memory);
        let only_parameters = memory.regions().all(|region| matches!(region.origin, Origin::Parameter(_)));
        let harmless = Events { wide_shift: Default::default(), ..outcome.events.clone() };
        // Results that depend on addresses or on undefined behaviour cannot be compared.
        let verdict = match &outcome.end {
            End::NotSupported(_) => "not supported",
            End::Completed if harmless != Events::default() => "undefined",
            End::Completed if depends_on_timing(&program, &launch, &memory) => "depends on timing",
            End::Completed if !only_parameters || kernel.is_noreturn => "variables or pointers in memory",
            End::Completed => {
                let same = compare(context, stream, path, (&program, &launch, &pointers), &mut memory);
                match same {
                    Ok(verdict) => verdict,
                    Err(error) => {
                        println!("{} {}: {error}", path.display(), kernel.name);
                        return Err("the GPU failed".into());
                    }
                }
            }
            _ => "did not complete",
        };
        if verdict == "different" {
            println!("{} {}: different", path.display(), kernel.name);
        }
        *counts.entry(verdict).or_default() += 1;
    }
    Ok(())
}

/// Whether a different order of blocks, warps and stores changes the output.
fn depends_on_timing(program: &Program, launch: &Launch, memory: &Memory) -> bool {
    let mut other = Memory::new(Generated::new(7));
    let mut reversed = launch.clone();
    reversed.limits.reversed = true;
    // Element types are copied, because they would otherwise depend on which access comes first.
    for region in memory.regions() {
        if let Origin::Parameter(number) = region.origin {
            let id = other.parameter(number);
            if let Some(element) = region.element {
                other.set_element(id, element);
            }
        }
    }
    program.run(&reversed, &mut other);
    other.written() != memory.written()
}

fn compare(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    path: &Path,
    (program, launch, pointers): (&Program, &Launch, &[(usize, usize, u32)]),
    memory: &mut Memory,
) -> Outcome<&'static str> {
    let mut before = Memory::new(Generated::new(7));
    let mut parameters = launch.parameters.clone();
    let mut buffers = Vec::new();
    for (parameter, offset, number) in pointers {
        let region = memory.parameter(*number);
        let touched = memory.touched(region).unwrap_or(0..1);
        if touched.start < 0 || touched.end > LARGEST {
            return Ok("far offsets");
        }
        let element = memory.regions().find(|known| known.id == region).and_then(|known| known.element);
        let first = before.parameter(*number);
        if let Some(element) = element {
            before.set_element(first, element);
        }
        let bytes = before.bytes(first, 0, touched.end as usize)?;
        let device = stream.clone_htod(&bytes)?;
        let address = {
            use cudarc::driver::DevicePtr;
            device.device_ptr(stream).0
        };
        parameters[*parameter][*offset..*offset + 8].copy_from_slice(&address.to_le_bytes());
        buffers.push((region, touched.end as usize, device));
    }
    let module = context.load_module(Ptx::from_file(path.with_extension("cubin")))?;
    let function = module.load_function(&program.kernel().name)?;
    let [x, y, z] = launch.block;
    let config = LaunchConfig {
        grid_dim: (launch.grid[0], 1, 1),
        block_dim: (x, y, z),
        shared_mem_bytes: launch.dynamic_shared,
    };
    // Parameters are passed as bytes, as the driver expects them.
    let mut places: Vec<*mut std::ffi::c_void> = parameters.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
    // SAFETY: each parameter has the size that the kernel declares. The machine's run has shown that all accesses lie
    // in the buffers.
    unsafe {
        cudarc::driver::result::launch_kernel(
            function.cu_function(),
            config.grid_dim,
            config.block_dim,
            config.shared_mem_bytes,
            stream.cu_stream(),
            &mut places,
        )?;
    }
    stream.synchronize()?;
    let mut verdict = "equal";
    for (region, count, device) in &buffers {
        let theirs = stream.clone_dtoh(device)?;
        let ours = memory.bytes(*region, 0, *count)?;
        if theirs == ours {
            continue;
        }
        let near = theirs.chunks(4).zip(ours.chunks(4)).all(|(a, b)| is_near_word(a, b));
        let near = near || theirs.chunks(8).zip(ours.chunks(8)).all(|(a, b)| is_near_double(a, b));
        verdict = if near && verdict != "different" { "near" } else { "different" };
        if verdict == "different" {
            let at = theirs.iter().zip(&ours).position(|(a, b)| a != b).unwrap_or(0) & !7;
            let end = (at + 8).min(theirs.len());
            println!("    byte {at} of {:?}: GPU {:x?}, machine {:x?}", region, &theirs[at..end], &ours[at..end]);
        }
    }
    Ok(verdict)
}

fn is_near_word(a: &[u8], b: &[u8]) -> bool {
    let (Ok(a), Ok(b)) = (a.try_into(), b.try_into()) else { return a == b };
    let (x, y) = (f32::from_le_bytes(a), f32::from_le_bytes(b));
    a == b || (x - y).abs() <= 1e-4 * x.abs().max(1e-3) || (x.is_nan() && y.is_nan())
}

fn is_near_double(a: &[u8], b: &[u8]) -> bool {
    let (Ok(a), Ok(b)) = (a.try_into(), b.try_into()) else { return a == b };
    let (x, y) = (f64::from_le_bytes(a), f64::from_le_bytes(b));
    a == b || (x - y).abs() <= 1e-9 * x.abs().max(1e-3) || (x.is_nan() && y.is_nan())
}
