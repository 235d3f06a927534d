//! Times both versions of a kernel on this machine's GPU.
//!
//! The driver runs in a child process (`cargo-lmem lmem __gpu-worker`, [`worker`]): a kernel that leaves its memory
//! makes the GPU unusable for the process that launched it, and one that does not end has to be killed.

mod worker;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use thiserror::Error;

use lmem_base::diagnostic::Comparison;
use lmem_base::gpu::Arch;
use lmem_base::process;
use lmem_base::timing::{Measurement, Timing};
use lmem_compare::{LargeLaunch, Terms, Versions};
use lmem_unit::Artifacts;
use nv_code::{Cubin, CubinFunction};

use crate::verify::measure::canonical;

pub use worker::{Device, GPU_WORKER, worker};
use worker::{Request, Response};

/// Time for one kernel, with the start of the driver.
const LIMIT: Duration = Duration::from_secs(60);

/// Why nothing is measured.
#[derive(Debug, Error)]
pub enum MeasureError {
    #[error("no GPU can be used: {0}")]
    NoGpu(String),
    #[error("the process for the GPU cannot be started")]
    Process(#[source] std::io::Error),
}

impl MeasureError {
    /// What helps.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoGpu(_) => vec!["`cargo lmem -v` shows estimates; they need none".to_string()],
            Self::Process(_) => Vec::new(),
        }
    }
}

/// This machine's GPU. Kernels are timed one after the other.
pub struct Bench<'a> {
    pub device: Device,
    cancel: &'a AtomicBool,
    turn: Mutex<()>,
}

impl<'a> Bench<'a> {
    /// The first GPU that the driver names.
    ///
    /// # Errors
    /// There is no driver, or no GPU.
    pub fn new(cancel: &'a AtomicBool) -> Result<Self, MeasureError> {
        match asked(&Request::Device, &[], cancel).map_err(MeasureError::Process)? {
            Response::Device(device) => Ok(Self { device, cancel, turn: Mutex::new(()) }),
            Response::Timed(_) => Err(MeasureError::NoGpu("it gives no name".to_string())),
            Response::Failed(why) => Err(MeasureError::NoGpu(why)),
        }
    }

    /// Whether machine code for an architecture runs on this GPU.
    pub fn runs(&self, architecture: &str) -> bool {
        Arch::of(architecture).number() == Arch::of(&self.device.architecture).number()
    }

    /// Times both versions of a unit's kernels whose results are equal; `threads` are the block sizes that the edits
    /// of kernels rely on.
    pub fn time_all(
        &self,
        before: &Artifacts,
        after: &Artifacts,
        results: &BTreeMap<String, Comparison>,
        threads: &BTreeMap<String, u32>,
    ) -> BTreeMap<String, Measurement> {
        let Some(versions) = Versions::new(&canonical(&before.ptx), &canonical(&after.ptx)) else {
            return BTreeMap::new();
        };
        let is_equal = |kernel: &str| {
            use Comparison::{LastDigits, Same, Unchanged};
            matches!(results.get(kernel), Some(Unchanged | Same { .. } | LastDigits { .. }))
        };
        let (old, new) = (functions(before), functions(after));
        let mut timed = BTreeMap::new();
        for kernel in versions.kernels().filter(|kernel| is_equal(kernel)) {
            let (Some(old), Some(new)) = (old.get(kernel), new.get(kernel)) else { continue };
            // Of a unit's kernels, an edit changes few.
            if old.code == new.code {
                continue;
            }
            let terms = Terms { threads: threads.get(kernel).copied(), ..Terms::default() };
            let names = [old, new].map(|function| function.name.to_string());
            let timing = versions
                .large_launch(kernel, terms)
                .and_then(|launch| self.time(launch, names, [&before.cubin, &after.cubin]));
            let measurement = match timing {
                Ok(timing) => Measurement::Timed(Box::new(timing)),
                Err(why) => Measurement::NotTimed { why },
            };
            timed.insert(kernel.to_string(), measurement);
        }
        timed
    }

    /// Times both versions of a kernel. The error says why it cannot be done.
    fn time(&self, mut launch: LargeLaunch, kernels: [String; 2], cubins: [&[u8]; 2]) -> Result<Timing, String> {
        let _turn = self.turn.lock().map_err(|_| "another measurement failed")?;
        let contents: Vec<Vec<u8>> =
            launch.buffers.iter_mut().map(|buffer| std::mem::take(&mut buffer.bytes)).collect();
        let parts: Vec<&[u8]> = contents.iter().map(Vec::as_slice).chain(cubins).collect();
        let request = Request::Time { launch, kernels, cubins: cubins.map(<[u8]>::len) };
        match asked(&request, &parts, self.cancel) {
            Ok(Response::Timed(timing)) => Ok(*timing),
            Ok(Response::Failed(why)) => Err(why),
            Ok(Response::Device(_)) => Err("the GPU did not answer".to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The functions of a unit's machine code, by canonical name.
fn functions(artifacts: &Artifacts) -> BTreeMap<String, CubinFunction> {
    let functions = Cubin::parse(&artifacts.cubin).map(|cubin| cubin.functions).unwrap_or_default();
    functions.into_iter().map(|function| (canonical(&function.name), function)).collect()
}

/// Asks a worker: a line of JSON, then the contents of the buffers and both cubins.
fn asked(request: &Request, parts: &[&[u8]], cancel: &AtomicBool) -> std::io::Result<Response> {
    let mut input = serde_json::to_vec(request)?;
    input.push(b'\n');
    parts.iter().for_each(|part| input.extend_from_slice(part));
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["lmem", GPU_WORKER]);
    let output = process::run(&mut command, &input, LIMIT, cancel)?;
    Ok(serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        let said = output.text();
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("the process ended early");
        Response::Failed(last.to_string())
    }))
}
