//! The same with what works, and options that only look alike.

use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};

const SOFTMAX: &str = r#"
extern "C" __global__ void __launch_bounds__(256, 5) softmax(const float *in, float *out, int columns) {
    const float *row = in + blockIdx.x * columns;
    float largest = row[0];
#pragma unroll 1
    for (int k = 1; k < 16; ++k) largest = fmaxf(largest, row[k]);
    float sum = 0.0f;
    for (int k = 0; k < columns; ++k) sum += expf(row[k] - largest);
    for (int k = 0; k < columns; ++k) out[blockIdx.x * columns + k] = expf(row[k] - largest) / sum;
}
"#;

pub fn softmax() -> Result<Ptx, CompileError> {
    let options = CompileOptions {
        options: vec!["--use_fast_math".into()],
        maxrregcount: None,
        use_fast_math: Some(false),
        fmad: Some(true),
        ..Default::default()
    };
    compile_ptx_with_opts(SOFTMAX, options)
}
