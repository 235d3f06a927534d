//! One kernel before and after an edit, with all launches that are legal for it. Runs in a process of its own: a kernel that
//! touches memory it must not touch, or never ends, takes the context with it.

use std::path::Path;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use libtest_mimic::Failed;

use crate::measure::kernels;

/// Names the pair in the environment of the process that runs it: `FOLDER/NAME FORM`.
pub const PAIR: &str = "LMEM_GPU_PAIR";

/// Elements of each buffer, as the kernels are written for.
const ELEMENTS: usize = 1 << 22;
const BLOCKS: u32 = 64;
const BLOCK: u32 = 128;
/// Written over the output before each launch; a number that no kernel computes.
const PATTERN: u32 = 0x4b5a_69c3;
/// The median of so many launches counts.
const LAUNCHES: usize = 15;

/// The structure that kernels whose names end in `_by_value` take.
#[repr(C)]
#[derive(Clone, Copy)]
struct Setup {
    input: u64,
    order: u64,
    out: u64,
    n: i32,
    m: u32,
    gain: [f32; 16],
}

// SAFETY: plain numbers in the layout that C gives them.
unsafe impl DeviceRepr for Setup {}

struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    input: CudaSlice<f32>,
    order: CudaSlice<i32>,
    pattern: CudaSlice<u32>,
    out: CudaSlice<u32>,
}

/// What differs between two outputs.
#[derive(Default)]
struct Difference {
    /// The kernel, its arguments, the element, and both values there.
    first: Option<String>,
    elements: usize,
    /// The largest, as a part of the larger result, or of 1 where that is more.
    relative: f32,
}

/// Runs a pair and prints what was found: `equal`, `digits`, `differs` or `fails`, then the details; times last.
pub fn pair(pair: &str) -> Result<(), Failed> {
    let (stem, form) = pair.rsplit_once(' ').ok_or("a pair is a name and a form")?;
    let line = fs_err::read_to_string(format!("{stem}.launch"))?;
    let (old, new) = (format!("{stem}.before.cubin"), format!("{stem}.{form}.cubin"));
    let mut gpu = Gpu::new()?;
    let mut difference = Difference::default();
    let (mut slowest, mut times) = (0.0_f32, String::new());
    for kernel in launched(Path::new(&old))? {
        let (before, after) = (gpu.load(&old, &kernel)?, gpu.load(&new, &kernel)?);
        for (n, m) in launches(&line)? {
            let launch = format!("{kernel} n = {n} m = {m}");
            let mut run = |function| gpu.run(function, &kernel, n, m);
            let broken =
                |error: Failed| format!("{launch}: the kernel itself: {}", error.message().unwrap_or_default());
            let expected = run(&before).map_err(broken)?;
            if run(&before).map_err(broken)? != expected {
                return Err(format!("{launch}: the kernel itself computes something else each time").into());
            }
            match run(&after) {
                Ok(found) => difference.add(&expected, &found, &launch),
                Err(error) => {
                    println!("fails {launch}: {}", error.message().unwrap_or_default());
                    return Ok(());
                }
            }
            let (old, new) = (gpu.time(&before, &kernel, n, m)?, gpu.time(&after, &kernel, n, m)?);
            if new / old > slowest {
                slowest = new / old;
                times = format!("{old:.4} -> {new:.4} ms ({launch})");
            }
        }
    }
    println!("{difference} | {slowest:.3} {times}");
    Ok(())
}

/// The kernel that a file is named after; of kernel strings all.
fn launched(cubin: &Path) -> Result<Vec<String>, Failed> {
    let name = cubin.file_name().unwrap_or_default().to_string_lossy().replace(".before.cubin", "");
    let mut all = kernels(cubin)?;
    all.retain(|kernel| *kernel == name || name.contains('.'));
    if all.is_empty() { Err(format!("no kernel `{name}`").into()) } else { Ok(all) }
}

/// All combinations of `// launch: n = 0, 1; m = 0, 3`.
fn launches(line: &str) -> Result<Vec<(i32, u32)>, Failed> {
    let values = |name: &str| -> Result<Vec<i64>, Failed> {
        let start =
            line.find(&format!("{name} = ")).ok_or_else(|| format!("no `{name} = ` in `{line}`"))? + name.len() + 3;
        let list = line[start..].split(';').next().unwrap_or_default();
        list.split(',').map(|value| Ok(value.trim().parse()?)).collect()
    };
    let mut launches = Vec::new();
    for n in values("n")? {
        for m in values("m")? {
            launches.push((i32::try_from(n)?, u32::try_from(m)?));
        }
    }
    Ok(launches)
}

impl Difference {
    fn add(&mut self, expected: &[u32], found: &[u32], launch: &str) {
        if expected == found {
            return;
        }
        for (index, (old, new)) in expected.iter().zip(found).enumerate().filter(|(_, (old, new))| old != new) {
            let (old, new) = (f32::from_bits(*old), f32::from_bits(*new));
            let relative = match (old.is_nan(), new.is_nan()) {
                (true, true) => 0.0,
                (true, false) | (false, true) => f32::INFINITY,
                (false, false) => (old - new).abs() / old.abs().max(new.abs()).max(1.0),
            };
            // Infinite in both, with other signs.
            self.relative = self.relative.max(if relative.is_nan() { f32::INFINITY } else { relative });
            self.elements += 1;
            self.first.get_or_insert_with(|| format!("{launch}: out[{index}] {old} -> {new}"));
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(first) = &self.first else { return formatter.write_str("equal") };
        let verdict = if self.relative <= super::run::LAST_DIGITS { "digits" } else { "differs" };
        write!(formatter, "{verdict} {first}, {} elements, up to {:.1e}", self.elements, self.relative)
    }
}

impl Gpu {
    fn new() -> Result<Self, Failed> {
        let context = CudaContext::new(0)?;
        let stream = context.default_stream();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as u32
        };
        let input: Vec<f32> = (0..ELEMENTS).map(|_| random() as f32 / 1_073_741_824.0 - 1.0).collect();
        let order: Vec<i32> = (0..ELEMENTS).map(|_| random() as i32).collect();
        let pattern = vec![PATTERN; ELEMENTS];
        let (input, order) = (stream.clone_htod(&input)?, stream.clone_htod(&order)?);
        let (pattern, out) = (stream.clone_htod(&pattern)?, stream.clone_htod(&pattern)?);
        Ok(Self { context, stream, input, order, pattern, out })
    }

    fn load(&self, cubin: &str, kernel: &str) -> Result<CudaFunction, Failed> {
        Ok(self.context.load_module(Ptx::from_file(cubin))?.load_function(kernel)?)
    }

    /// All that a kernel leaves in the output.
    fn run(&mut self, function: &CudaFunction, kernel: &str, n: i32, m: u32) -> Result<Vec<u32>, Failed> {
        self.stream.memcpy_dtod(&self.pattern, &mut self.out)?;
        self.launch(function, kernel, n, m)?;
        self.stream.synchronize()?;
        Ok(self.stream.clone_dtoh(&self.out)?)
    }

    fn time(&mut self, function: &CudaFunction, kernel: &str, n: i32, m: u32) -> Result<f32, Failed> {
        let mut times = Vec::new();
        for _ in 0..LAUNCHES {
            self.stream.memcpy_dtod(&self.pattern, &mut self.out)?;
            let start = self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
            let end = self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
            start.record(&self.stream)?;
            self.launch(function, kernel, n, m)?;
            end.record(&self.stream)?;
            times.push(start.elapsed_ms(&end)?);
        }
        times.sort_by(f32::total_cmp);
        Ok(times[LAUNCHES / 2])
    }

    fn launch(&mut self, function: &CudaFunction, kernel: &str, n: i32, m: u32) -> Result<(), Failed> {
        let config = LaunchConfig { grid_dim: (BLOCKS, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.stream.launch_builder(function);
        if kernel.ends_with("_by_value") {
            let mut gain = [0.0; 16];
            (0_u8..).zip(&mut gain).for_each(|(number, gain)| *gain = f32::from(number) / 8.0 - 0.9);
            let setup = Setup {
                input: self.input.device_ptr(&self.stream).0,
                order: self.order.device_ptr(&self.stream).0,
                out: self.out.device_ptr(&self.stream).0,
                n,
                m,
                gain,
            };
            // SAFETY: the kernel takes this structure, and its pointers are to buffers that outlive the launch.
            unsafe { launch.arg(&setup).launch(config)? };
        } else {
            launch.arg(&self.input).arg(&self.order).arg(&mut self.out).arg(&n).arg(&m);
            // SAFETY: all other kernels take these arguments; one that leaves its buffers ends this process alone.
            unsafe { launch.launch(config)? };
        }
        Ok(())
    }
}
