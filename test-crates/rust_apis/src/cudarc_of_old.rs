//! cudarc 0.12: devices load PTX under a module's name, and functions are asked for by both names.

use cudarc::driver::{CudaDevice, LaunchAsync, LaunchConfig};
use cudarc::nvrtc::{self, Ptx};

const TALLY: &str = "
extern \"C\" __global__ void tally(const int *in, int *out, int n) {
    int bin[12]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 12; ++k) bin[k] = 0;
    for (int k = 0; k < n; ++k) bin[in[k * 32 + threadIdx.x] % 12] += k;
#pragma unroll
    for (int k = 0; k < 12; ++k) out[k * 32 + threadIdx.x] = bin[k];
}";

/// Made by the build from `kernels/spread.cu`.
const SPREAD: &str = include_str!(concat!(env!("OUT_DIR"), "/spread.ptx"));

/// Made by a build that nobody knows.
const LOST: &str = include_str!(concat!(env!("OUT_DIR"), "/lost.ptx"));

pub fn all(device: &CudaDevice) {
    let ptx = nvrtc::safe::compile_ptx(TALLY).unwrap();
    device.load_ptx(ptx, "tally", &["tally"]).unwrap();
    device.load_ptx(SPREAD.into(), "spread", &["spread"]).unwrap();
    device.load_ptx(Ptx::from_src(LOST), "lost", &["lost"]).unwrap(); //~ not_analysed
}

/// A block of 64: the column of each thread fits.
pub fn run(device: &CudaDevice, input: &In, output: &mut Out) {
    let tally = device.get_func("tally", "tally").unwrap();
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };
    unsafe { tally.launch(config, (input, output, 9)) }.unwrap();
}
