//! Kernel strings: an edit must keep the literal that it is in.

use cudarc::nvrtc::compile_ptx;

/// A raw string.
pub const RAW: &str = r#"
extern "C" __global__ void raw(const float *in, float *out) {
    float sample[12]; //~ rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mean = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 12; ++k) {
        sample[k] = in[i * 12 + k];
        mean += sample[k];
    }
#pragma unroll 1
    for (int k = 0; k < 12; ++k) out[i * 12 + k] = sample[k] - mean;
}
"#;

/// Lines that end with `\n\`.
pub const ESCAPED: &str = "extern \"C\" __global__ void escaped(const float *in, float *out, int taps) {\n\
    float window[16]; //~ rolled_loop\n\
    int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
    for (int t = 0; t < taps; ++t) window[t] = in[i + t];\n\
    float mean = 0.0f;\n\
    for (int t = 0; t < taps; ++t) mean += window[t];\n\
    float sum = 0.0f;\n\
    for (int t = 0; t < taps; ++t) { sum += (window[t] - mean) * (window[t] - mean); }\n\
    out[i] = sum;\n\
}\n";

/// Compiles both.
pub fn compile() {
    let _ = compile_ptx(RAW);
    let _ = compile_ptx(ESCAPED);
}
