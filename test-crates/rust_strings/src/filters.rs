//! A raw literal in the call, a constant and a static.

use cudarc::nvrtc::{CompileError, Ptx, compile_ptx};

pub fn histogram() -> Result<Ptx, CompileError> {
    compile_ptx(
        r#"
extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
    unsigned count[16]; //~ dynamic_index
#pragma unroll
    for (int b = 0; b < 16; ++b) count[b] = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) count[in[i] >> 4]++;
#pragma unroll
    for (int b = 0; b < 16; ++b) atomicAdd(&out[b], count[b]);
}
"#,
    )
}

/// The number of taps is known at run time only.
const FIR: &str = r#"
extern "C" __global__ void fir(const float *in, float *out, int n, int taps) {
    float window[16]; //~ rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = 0.0f;
#pragma unroll 1
    for (int t = 0; t < taps; ++t) {
        window[t] = in[i + t];
        mean += window[t];
    }
    mean /= taps;
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < taps; ++t) {
        sum += (window[t] - mean) * (window[t] - mean);
    }
    out[i] = sum;
}

extern "C" __global__ void fir_of_eight(const float *in, float *out, int n) {
    float window[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = 0.0f;
#pragma unroll
    for (int t = 0; t < 8; ++t) {
        window[t] = in[i + t];
        mean += window[t];
    }
    mean *= 0.125f;
    float sum = 0.0f;
#pragma unroll
    for (int t = 0; t < 8; ++t) {
        sum += (window[t] - mean) * (window[t] - mean);
    }
    out[i] = sum;
}
"#;

static SCALE: &str = "extern \"C\" __global__ void scale(float *x, float a) { x[threadIdx.x] *= a; }";

pub fn all() -> Result<[Ptx; 2], CompileError> {
    Ok([compile_ptx(FIR)?, compile_ptx(SCALE)?])
}
