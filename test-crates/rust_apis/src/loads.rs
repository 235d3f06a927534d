//! Kernels that are loaded through a function, and launched with shared memory beside their own.

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, LaunchConfig};

const BYTES: u32 = 4 * 1024;

fn load(module: &CudaModule, what: &str) -> CudaFunction {
    module.load_function(&format!("tally_{what}")).unwrap()
}

pub fn run(context: &CudaContext, stream: &CudaStream, input: &Buffer, output: &mut Buffer) {
    let module = context.load_module(crate::tallies::module()).unwrap();
    let rows = load(&module, "rows");
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: BYTES };
    unsafe { stream.launch_builder(&rows).arg(input).arg(output).launch(config) }.unwrap();
}
