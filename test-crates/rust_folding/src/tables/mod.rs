//! Kernels in a table, compiled in a loop, and text of another module.

use std::sync::LazyLock;

use cudarc::nvrtc::{Ptx, compile_ptx};

pub struct Kernel {
    pub name: &'static str,
    pub source: &'static str,
}

const KERNELS: [Kernel; 2] = [
    Kernel { name: "pick", source: include_str!("../../kernels/pick.cu") },
    Kernel { name: "fill", source: "extern \"C\" __global__ void fill(int *out) { out[threadIdx.x] = 0; }" },
];

static HEADER: LazyLock<String> = LazyLock::new(|| format!("#define WIDTH {}\n", WIDTH * 2));

pub const WIDTH: usize = 0x6;

pub fn all() -> Vec<Ptx> {
    let mut modules = Vec::new();
    for Kernel { source, .. } in &KERNELS {
        modules.push(compile_ptx([HEADER.as_str(), source].concat()).unwrap());
    }
    modules
}
