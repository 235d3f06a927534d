//! Options beside a string: the kernel is compiled with them.

use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};

const DELAY: &str = r#"
extern "C" __global__ void delay(const float *in, const int *delays, float *out, int n) {
    float line[TAPS]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < TAPS; ++k) line[k] = 0.0f;
    for (int step = 0; step < n; ++step) {
        line[delays[step * 32 + threadIdx.x] % TAPS] += in[step * 32 + threadIdx.x];
    }
#pragma unroll
    for (int k = 0; k < TAPS; ++k) out[k * 32 + threadIdx.x] = line[k];
}
"#;

pub fn delay() -> Result<Ptx, CompileError> {
    let options = CompileOptions {
        arch: Some("compute_80"),
        options: vec!["-DTAPS=28".to_string(), "--std=c++17".to_string()],
        ..Default::default()
    };
    compile_ptx_with_opts(DELAY, options)
}
