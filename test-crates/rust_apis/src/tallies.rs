//! A kernel that other files load, by a name that is put together.

use cudarc::nvrtc::{Ptx, compile_ptx};

/// Loaded and launched in `loads.rs`.
const TALLIES: &str = r#"
extern "C" __global__ void tally_rows(const int *in, int *out, int n) {
    int row[14]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 14; ++k) row[k] = 0;
    for (int k = 0; k < n; ++k) row[in[k * 32 + threadIdx.x] % 14] += k;
#pragma unroll
    for (int k = 0; k < 14; ++k) out[k * 32 + threadIdx.x] = row[k];
}
"#;

pub fn module() -> Ptx {
    compile_ptx(TALLIES).unwrap()
}
