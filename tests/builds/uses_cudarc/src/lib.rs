//! Kernels for cudarc as it is now: contexts, streams and modules.

mod kernels;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaModule, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx, compile_ptx_with_opts};

const THREADS: u32 = 256;

#[derive(Debug)]
pub enum Error {
    Driver(DriverError),
    Compile(CompileError),
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        Self::Compile(error)
    }
}

pub struct Statistics {
    stream: Arc<CudaStream>,
    bins: Arc<CudaModule>,
    moments: Arc<CudaModule>,
    ranks: Arc<CudaModule>,
    scaled: Arc<CudaModule>,
}

impl Statistics {
    pub fn new(ordinal: usize) -> Result<Self, Error> {
        let context = CudaContext::new(ordinal)?;
        let options = CompileOptions {
            arch: Some("compute_80"),
            options: vec!["--use_fast_math".to_string(), "-DCOUNT=20".to_string()],
            ..Default::default()
        };
        let moments = compile_ptx_with_opts(include_str!("../kernels/moments.cu"), options)?;
        Ok(Self {
            stream: context.default_stream(),
            bins: context.load_module(compile_ptx(kernels::BINS)?)?,
            moments: context.load_module(moments)?,
            ranks: context.load_module(Ptx::from_src(include_str!(concat!(env!("OUT_DIR"), "/ranks.ptx"))))?,
            scaled: context.load_module(compile_ptx(kernels::scaled())?)?,
        })
    }

    pub fn bins(&self, values: &CudaSlice<f32>, index: &CudaSlice<i32>) -> Result<CudaSlice<f32>, Error> {
        let function = self.bins.load_function("bins")?;
        let count = values.len() as i32;
        let mut out = self.stream.alloc_zeros::<f32>(THREADS as usize * 16)?;
        let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(values).arg(index).arg(&mut out).arg(&count);
        unsafe { launch.launch(config) }?;
        Ok(out)
    }

    /// All others, one after the other.
    pub fn others(&self, values: &CudaSlice<f32>, index: &CudaSlice<i32>) -> Result<Vec<f32>, Error> {
        let mut all = Vec::new();
        for (module, name) in [(&self.moments, "moments"), (&self.ranks, "ranks"), (&self.scaled, "scaled")] {
            let function = module.load_function(name)?;
            let count = values.len() as i32;
            let mut out = self.stream.alloc_zeros::<f32>(1024 * 64)?;
            let mut launch = self.stream.launch_builder(&function);
            launch.arg(values).arg(index).arg(&mut out).arg(&count);
            unsafe { launch.launch(LaunchConfig::for_num_elems(1024)) }?;
            all.extend(self.stream.clone_dtoh(&out)?);
        }
        Ok(all)
    }

    /// The sums of every third value, with a kernel that stands where it is compiled.
    pub fn thirds(&self, values: &CudaSlice<f32>, index: &CudaSlice<i32>) -> Result<Vec<f32>, Error> {
        let ptx = compile_ptx(
            r#"extern "C" __global__ void thirds(const float* in, const int* index, float* out, int n) {
                float third[24] = {};
                for (int i = 0; i < n; i += 3) {
                    third[index[i] % 24] += in[i];
                }
                for (int i = 0; i < 24; ++i) {
                    out[threadIdx.x * 24 + i] = third[i];
                }
            }"#,
        )?;
        let function = self.stream.context().load_module(ptx)?.load_function("thirds")?;
        let count = values.len() as i32;
        let mut out = self.stream.alloc_zeros::<f32>(64 * 24)?;
        let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };
        unsafe { self.stream.launch_builder(&function).arg(values).arg(index).arg(&mut out).arg(&count).launch(config) }?;
        Ok(self.stream.clone_dtoh(&out)?)
    }
}
