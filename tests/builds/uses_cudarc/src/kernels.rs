//! Texts of kernels.

pub const BINS: &str = r#"
extern "C" __global__ void bins(const float* in, const int* index, float* out, int n) {
    float bin[16] = {};
    for (int i = 0; i < n; ++i) {
        bin[index[i] & 15] += in[i];
    }
    for (int i = 0; i < 16; ++i) {
        out[(blockIdx.x * blockDim.x + threadIdx.x) * 16 + i] = bin[i];
    }
}
"#;

/// As many factors as a group has.
const FACTORS: usize = 28;

pub fn scaled() -> String {
    format!(
        r#"#define FACTORS {FACTORS}
extern "C" __global__ void scaled(const {kind}* in, const int* index, {kind}* out, int n) {{
    {kind} factor[FACTORS] = {{}};
    for (int i = 0; i < n; ++i) {{
        factor[index[i] % FACTORS] += in[i] * 0.5f;
    }}
    for (int i = 0; i < FACTORS; ++i) {{
        out[threadIdx.x * FACTORS + i] = factor[i];
    }}
}}
"#,
        kind = "float"
    )
}
