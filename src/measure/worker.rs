//! The process that uses the GPU.

use std::io::{BufRead, Write};
use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags, CUfunction_attribute};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use lmem_base::timing::{TimedResults, TimedVersion, Timing};
use lmem_compare::LargeLaunch;

/// Name of the hidden subcommand.
pub const GPU_WORKER: &str = "__gpu-worker";

/// Launches of each version that are timed.
const LAUNCHES: u32 = 21;

/// The driver's library. cudarc would end the process without it.
const DRIVER: &str = "libcuda.so.1";

/// A request: this, then the bytes of the launch's buffers and of both cubins.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Device,
    Time {
        launch: LargeLaunch,
        /// The name of the kernel in each cubin.
        kernels: [String; 2],
        /// Lengths of the cubins.
        cubins: [usize; 2],
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Response {
    Device(Device),
    Timed(Box<Timing>),
    Failed(String),
}

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub name: String,
    /// `sm_90`
    pub architecture: String,
    /// Its highest clock.
    pub megahertz: u32,
}

#[derive(Debug, Error)]
enum WorkerError {
    #[error("the driver `{DRIVER}` cannot be loaded")]
    NoDriver,
    #[error("the driver says: {0}")]
    Driver(#[from] DriverError),
    #[error("the request cannot be read")]
    Request,
}

/// Serves one request: standard input to standard output.
///
/// # Errors
/// The answer cannot be written.
pub fn worker() -> std::io::Result<()> {
    let response = answer(&mut std::io::stdin().lock()).unwrap_or_else(|error| Response::Failed(error.to_string()));
    let text = serde_json::to_string(&response)?;
    std::io::stdout().lock().write_all(text.as_bytes())
}

fn answer(input: &mut dyn BufRead) -> Result<Response, WorkerError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|_| WorkerError::Request)?;
    let request: Request = serde_json::from_str(&line).map_err(|_| WorkerError::Request)?;
    // SAFETY: the driver's own library; its initialization has no requirements.
    let driver = unsafe { libloading::Library::new(DRIVER) };
    let _driver = driver.map_err(|_| WorkerError::NoDriver)?;
    let gpu = Gpu::new()?;
    match request {
        Request::Device => Ok(Response::Device(gpu.device()?)),
        Request::Time { mut launch, kernels, cubins } => {
            for buffer in &mut launch.buffers {
                buffer.bytes = taken(input, buffer.length)?;
            }
            let cubins = [taken(input, cubins[0])?, taken(input, cubins[1])?];
            Ok(Response::Timed(Box::new(gpu.time(&launch, &kernels, cubins)?)))
        }
    }
}

fn taken(input: &mut dyn BufRead, count: usize) -> Result<Vec<u8>, WorkerError> {
    let mut bytes = vec![0; count];
    input.read_exact(&mut bytes).map_err(|_| WorkerError::Request)?;
    Ok(bytes)
}

struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// The memory of a launch on the GPU.
struct Buffers {
    /// What the kernel gets.
    used: Vec<CudaSlice<u8>>,
    /// The contents before each launch.
    fresh: Vec<CudaSlice<u8>>,
    /// Parameters with addresses of `used`.
    parameters: Vec<Vec<u8>>,
}

impl Gpu {
    fn new() -> Result<Self, DriverError> {
        let context = CudaContext::new(0)?;
        let stream = context.default_stream();
        Ok(Self { context, stream })
    }

    fn device(&self) -> Result<Device, DriverError> {
        use CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        };
        let attribute = |attribute| self.context.attribute(attribute);
        let major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let kilohertz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        Ok(Device {
            name: self.context.name()?,
            architecture: format!("sm_{major}{minor}"),
            megahertz: kilohertz.unsigned_abs() / 1000,
        })
    }

    fn time(&self, launch: &LargeLaunch, kernels: &[String; 2], cubins: [Vec<u8>; 2]) -> Result<Timing, DriverError> {
        let load =
            |cubin: Vec<u8>, kernel: &str| self.context.load_module(Ptx::from_binary(cubin))?.load_function(kernel);
        let [old, new] = cubins;
        let (before, after) = (&load(old, &kernels[0])?, &load(new, &kernels[1])?);
        let mut buffers = self.buffers(launch)?;
        let mut written = |function| {
            self.launch(launch, &mut buffers, function)?;
            buffers.used.iter().map(|buffer| self.stream.clone_dtoh(buffer)).collect::<Result<Vec<_>, _>>()
        };
        let (first, edited, second) = (written(before)?, written(after)?, written(before)?);
        let results = match (first == second, first == edited) {
            (true, true) => TimedResults::Same,
            (true, false) => TimedResults::Different,
            (false, _) => TimedResults::Unstable,
        };
        let (mut old_times, mut new_times) = (Vec::new(), Vec::new());
        for _ in 0..LAUNCHES {
            old_times.push(self.launch(launch, &mut buffers, before)?);
            new_times.push(self.launch(launch, &mut buffers, after)?);
        }
        let device = self.device()?;
        Ok(Timing {
            device: device.name,
            megahertz: device.megahertz,
            blocks: launch.grid.iter().product(),
            threads: launch.block.iter().product(),
            launches: LAUNCHES,
            before: version(launch, before, median(&mut old_times))?,
            after: version(launch, after, median(&mut new_times))?,
            results,
        })
    }

    fn buffers(&self, launch: &LargeLaunch) -> Result<Buffers, DriverError> {
        let mut parameters = launch.parameters.clone();
        let fresh = launch.buffers.iter().map(|buffer| self.stream.clone_htod(&buffer.bytes));
        let fresh = fresh.collect::<Result<Vec<_>, _>>()?;
        let used = fresh.iter().map(|buffer| self.stream.clone_dtod(buffer)).collect::<Result<Vec<_>, _>>()?;
        for pointer in &launch.pointers {
            let (Some(slice), Some(buffer)) = (used.get(pointer.buffer), launch.buffers.get(pointer.buffer)) else {
                continue;
            };
            let address = slice.device_ptr(&self.stream).0.wrapping_sub(buffer.start.cast_unsigned());
            let place = parameters.get_mut(pointer.parameter).and_then(|it| it.get_mut(pointer.offset..));
            if let Some(place) = place.and_then(|place| place.first_chunk_mut()) {
                *place = address.to_le_bytes();
            }
        }
        Ok(Buffers { used, fresh, parameters })
    }

    /// Runs a kernel on fresh memory; returns its time in milliseconds.
    fn launch(&self, launch: &LargeLaunch, buffers: &mut Buffers, function: &CudaFunction) -> Result<f32, DriverError> {
        for (fresh, used) in buffers.fresh.iter().zip(&mut buffers.used) {
            self.stream.memcpy_dtod(fresh, used)?;
        }
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
        let config = LaunchConfig { grid_dim: grid, block_dim: block, shared_mem_bytes: launch.dynamic_shared };
        let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let (start, end) = (self.context.new_event(flags)?, self.context.new_event(flags)?);
        let mut builder = self.stream.launch_builder(function);
        // The driver reads as many bytes as the kernel declares.
        for first in buffers.parameters.iter().filter_map(|parameter| parameter.first()) {
            builder.arg(first);
        }
        start.record(&self.stream)?;
        // SAFETY: the parameters have the sizes that the kernel declares, and it was run on the CPU with the same
        // memory, where it touched nothing else. If it does here, the driver ends the launch with an error.
        unsafe { builder.launch(config)? };
        end.record(&self.stream)?;
        start.elapsed_ms(&end)
    }
}

fn version(launch: &LargeLaunch, function: &CudaFunction, milliseconds: f32) -> Result<TimedVersion, DriverError> {
    use CUfunction_attribute::{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_NUM_REGS};
    let threads = launch.block.iter().product();
    let shared = launch.dynamic_shared as usize;
    Ok(TimedVersion {
        nanoseconds: (f64::from(milliseconds) * 1e6) as u64,
        local_bytes: function.get_attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?.unsigned_abs(),
        registers: function.get_attribute(CU_FUNC_ATTRIBUTE_NUM_REGS)?.unsigned_abs(),
        resident_blocks: function.occupancy_max_active_blocks_per_multiprocessor(threads, shared, None)?,
    })
}

fn median(times: &mut [f32]) -> f32 {
    times.sort_by(f32::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
