//! Options that do nothing for the code that runs.

use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};

const SOFTMAX: &str = r#"
extern "C" __global__ void softmax(const float *in, float *out, int columns) {
    const float *row = in + blockIdx.x * columns;
    float largest = row[0];
#pragma nounroll //~ ineffective_option
    for (int k = 1; k < 16; ++k) largest = fmaxf(largest, row[k]);
    float sum = 0.0f;
    for (int k = 0; k < columns; ++k) sum += expf(row[k] - largest);
    for (int k = 0; k < columns; ++k) out[blockIdx.x * columns + k] = expf(row[k] - largest) / sum;
}
"#;

const NORMALIZE: &str = r#"
extern "C" __global__ void normalize(const float3 *in, float3 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 v = in[i];
    float scale = 1.0f / sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
    out[i] = make_float3(v.x * scale, v.y * scale, v.z * scale);
}
"#;

const LENGTHS: &str = r#"
extern "C" __global__ void lengths(const float3 *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sqrtf(in[i].x * in[i].x + in[i].y * in[i].y + in[i].z * in[i].z);
}
"#;

const RECIPROCALS: &str = r#"
extern "C" __global__ void reciprocals(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1.0f / in[i];
}
"#;

/// Settings that several kernels share.
const LIMITED: CompileOptions = CompileOptions {
    ftz: None,
    prec_sqrt: None,
    prec_div: None,
    fmad: None,
    options: Vec::new(),
    use_fast_math: None,
    maxrregcount: Some(48), //~ ineffective_option
    include_paths: Vec::new(),
    arch: None,
    name: None,
};

pub fn softmax() -> Result<Ptx, CompileError> {
    compile_ptx_with_opts(SOFTMAX, LIMITED)
}

pub fn normalize() -> Result<Ptx, CompileError> {
    let options = CompileOptions {
        use_fast_math: Some(true), //~ ineffective_option
        arch: Some("compute_80"),
        ..Default::default()
    };
    compile_ptx_with_opts(NORMALIZE, options)
}

/// The limit is only known when the program runs; whatever it is, it has no effect.
pub fn lengths(registers: usize) -> Result<Ptx, CompileError> {
    let options = CompileOptions {
        maxrregcount: Some(registers), //~ ineffective_option
        ..Default::default()
    };
    compile_ptx_with_opts(LENGTHS, options) //~ not_analysed
}

pub fn reciprocals() -> Result<Ptx, CompileError> {
    let options = CompileOptions {
        options: vec![
            "--std=c++17".to_string(),
            "--maxrregcount=32".to_string(), //~ ineffective_option
            "--ptxas-options=-O2".into(), //~ ineffective_option
        ],
        ..Default::default()
    };
    compile_ptx_with_opts(RECIPROCALS, options)
}
