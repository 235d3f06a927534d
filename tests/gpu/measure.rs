//! Runs pairs of cubins with the same input, compares what they compute, and takes the time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags, CUfunction_attribute};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use libtest_mimic::Failed;

/// Threads of a launch.
const THREADS: u32 = 1 << 18;
const BLOCK: u32 = 256;
/// Loops of the kernels run so often, and each thread has as many elements of input.
const ROUNDS: u32 = 64;
/// The median of so many launches counts, after one that nobody counts.
const LAUNCHES: usize = 9;
/// An edit may cost so much.
const SLOWER: f32 = 1.03;
/// Files with functions whose last digits differ, and by how much of the result at most.
const OTHER_DIGITS: &[(&str, f32)] = &[("rings", 1e-5), ("waves", 1e-4)];

/// The structure that kernels whose names end in `_by_value` take.
#[repr(C)]
#[derive(Clone, Copy)]
struct Setup {
    x: u64,
    k: u64,
    out: u64,
    n: i32,
    rounds: i32,
    gain: [f32; 16],
}

// SAFETY: plain numbers in the layout that C gives them.
unsafe impl DeviceRepr for Setup {}

struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    x: CudaSlice<f32>,
    k: CudaSlice<i32>,
}

/// What a kernel computed, and how long it took.
struct Run {
    out: Vec<f32>,
    milliseconds: f32,
    local_bytes: i32,
    registers: i32,
}

/// The first GPU's architecture.
pub fn architecture() -> Result<String, Failed> {
    let context = CudaContext::new(0)?;
    let major = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(format!("sm_{major}{minor}"))
}

/// Runs all pairs of a folder.
pub fn run(folder: &Path) -> Result<(), Failed> {
    let gpu = Gpu::new()?;
    let mut files: Vec<PathBuf> =
        fs_err::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(".before.cubin"));
    files.sort();
    let mut problems: Vec<String> = Vec::new();
    println!("{:22} {:>12} {:>9} {:>17} {:>7}  results", "kernel", "local bytes", "registers", "ms", "ratio");
    for before in &files {
        let after = PathBuf::from(before.to_string_lossy().replace(".before.", ".after."));
        let file = before.file_name().unwrap_or_default().to_string_lossy().replace(".before.cubin", "");
        let tolerance = OTHER_DIGITS.iter().find(|(name, _)| *name == file).map_or(0.0, |(_, tolerance)| *tolerance);
        for kernel in kernels(before)? {
            let (old, new) = (gpu.run(before, &kernel)?, gpu.run(&after, &kernel)?);
            let difference = difference(&old.out, &new.out);
            let ratio = old.milliseconds / new.milliseconds;
            let results =
                if difference == 0.0 { "the same bits".to_string() } else { format!("differ by {difference:.1e}") };
            println!(
                "{kernel:22} {:>5} → {:>4} {:>3} → {:>3} {:>7.3} → {:>7.3} {ratio:>7.2}  {results}",
                old.local_bytes, new.local_bytes, old.registers, new.registers, old.milliseconds, new.milliseconds
            );
            if difference > tolerance {
                problems.push(format!("`{kernel}` computes something else: {difference}"));
            }
            if new.local_bytes < old.local_bytes && new.milliseconds > old.milliseconds * SLOWER {
                problems.push(format!("`{kernel}` is slower: {} → {} ms", old.milliseconds, new.milliseconds));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// Names of a cubin's kernels: the sections that hold their code.
pub fn kernels(cubin: &Path) -> Result<Vec<String>, Failed> {
    use object::{Object, ObjectSection};
    let bytes = fs_err::read(cubin)?;
    let file = object::File::parse(&*bytes)?;
    let names = file.sections().filter_map(|section| Some(section.name().ok()?.strip_prefix(".nv.info.")?.to_string()));
    // Functions that kernels call have mangled names.
    Ok(names.filter(|name| !name.starts_with("_Z")).collect())
}

/// The largest difference, as a part of the larger result, or of 1 where that is more; zero for the same bits only.
fn difference(old: &[f32], new: &[f32]) -> f32 {
    let of_pair = |(old, new): (&f32, &f32)| match old.to_bits() == new.to_bits() {
        true => 0.0,
        false => (old - new).abs() / old.abs().max(new.abs()).max(1.0),
    };
    old.iter().zip(new).map(of_pair).fold(0.0, |most, one| if one.is_nan() { f32::INFINITY } else { most.max(one) })
}

impl Gpu {
    fn new() -> Result<Self, Failed> {
        let context = CudaContext::new(0)?;
        let stream = context.default_stream();
        let count = (THREADS * ROUNDS) as usize;
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as u32
        };
        let x: Vec<f32> = (0..count).map(|_| random() as f32 / 1_073_741_824.0 - 1.0).collect();
        let k: Vec<i32> = (0..count).map(|_| random() as i32).collect();
        let (x, k) = (stream.clone_htod(&x)?, stream.clone_htod(&k)?);
        Ok(Self { context, stream, x, k })
    }

    fn run(&self, cubin: &Path, kernel: &str) -> Result<Run, Failed> {
        let module = self.context.load_module(Ptx::from_file(cubin))?;
        let function = module.load_function(kernel)?;
        let mut out: CudaSlice<f32> = self.stream.alloc_zeros(THREADS as usize)?;
        let mut times = Vec::new();
        for number in 0..=LAUNCHES {
            let start = self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
            let end = self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
            start.record(&self.stream)?;
            self.launch(&function, kernel, &mut out)?;
            end.record(&self.stream)?;
            let time = start.elapsed_ms(&end)?;
            if number > 0 {
                times.push(time);
            }
        }
        times.sort_by(f32::total_cmp);
        let attribute = |attribute| function.get_attribute(attribute);
        Ok(Run {
            out: self.stream.clone_dtoh(&out)?,
            milliseconds: times[LAUNCHES / 2],
            local_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            registers: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        })
    }

    fn launch(&self, function: &CudaFunction, kernel: &str, out: &mut CudaSlice<f32>) -> Result<(), Failed> {
        let config = LaunchConfig { grid_dim: (THREADS / BLOCK, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let (n, rounds) = (THREADS as i32, ROUNDS as i32);
        let mut launch = self.stream.launch_builder(function);
        if kernel.ends_with("_by_value") {
            let mut gain = [0.0; 16];
            (0_u8..).zip(&mut gain).for_each(|(number, gain)| *gain = f32::from(number) / 8.0 - 0.9);
            let setup = Setup {
                x: self.x.device_ptr(&self.stream).0,
                k: self.k.device_ptr(&self.stream).0,
                out: out.device_ptr(&self.stream).0,
                n,
                rounds,
                gain,
            };
            // SAFETY: the kernel takes this structure, and its pointers are to buffers that outlive the launch.
            unsafe { launch.arg(&setup).launch(config)? };
        } else {
            launch.arg(&self.x).arg(&self.k).arg(out).arg(&n).arg(&rounds);
            // SAFETY: all other kernels of the folder take these arguments, and stay within the buffers.
            unsafe { launch.launch(config)? };
        }
        Ok(())
    }
}
