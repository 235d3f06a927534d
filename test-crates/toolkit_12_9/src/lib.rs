//! Kernel strings for an older toolkit, whose ptxas marks spills.

use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx, compile_ptx_with_opts};

const DELAY: &str = r#"
extern "C" __global__ void delay(const float *in, const int *delays, float *out, int n) {
    float line[32]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 32; ++k) line[k] = 0.0f;
    for (int step = 0; step < n; ++step) {
        line[delays[step * 32 + threadIdx.x] % 32] += in[step * 32 + threadIdx.x];
    }
#pragma unroll
    for (int k = 0; k < 32; ++k) out[k * 32 + threadIdx.x] = line[k];
}
"#;

const STENCIL: &str = r#"
// 65536 / (256 × 5) leaves 48 registers.
extern "C" __global__ void __launch_bounds__(256, 5) stencil(const float *in, float *out, int rounds) { //~ register_spill
    float value[48];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 48; ++k) value[k] = in[k * 4096 + i];
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 48; ++k) value[k] = fmaf(value[k], value[(k + 7) % 48], value[(k * 5 + 3) % 48]);
    }
#pragma unroll
    for (int k = 0; k < 48; ++k) out[k * 4096 + i] = value[k];
}
"#;

/// An array in local memory and spills beside it.
const HISTOGRAM: &str = r#"
extern "C" __global__ void __launch_bounds__(256, 6) histogram(const float *in, const int *keys, float *out, int rounds) { //~ register_spill
    float bins[16]; //~ dynamic_index sm_80 sm_90
    float value[40];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 16; ++k) bins[k] = 0.0f;
#pragma unroll
    for (int k = 0; k < 40; ++k) value[k] = in[k * 4096 + i];
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 40; ++k) value[k] = fmaf(value[k], value[(k + 7) % 40], value[(k * 5 + 3) % 40]);
        bins[keys[round * 4096 + i] & 15] += value[0];
    }
#pragma unroll
    for (int k = 0; k < 40; ++k) out[k * 4096 + i] = value[k];
#pragma unroll
    for (int k = 0; k < 16; ++k) out[(k + 40) * 4096 + i] = bins[k];
}
"#;

const ROTATE: &str = r#"
extern "C" __global__ void rotate(const float *angles, float2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = make_float2(__cosf(angles[i]), __sinf(angles[i]));
}
"#;

pub fn delay() -> Result<Ptx, CompileError> {
    compile_ptx(DELAY)
}

pub fn stencil() -> Result<Ptx, CompileError> {
    compile_ptx_with_opts(STENCIL, CompileOptions { options: vec!["--std=c++17".into()], ..Default::default() })
}

pub fn histogram() -> Result<Ptx, CompileError> {
    compile_ptx(HISTOGRAM)
}

pub fn rotate() -> Result<Ptx, CompileError> {
    compile_ptx(ROTATE)
}
