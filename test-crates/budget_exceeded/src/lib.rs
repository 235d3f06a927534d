//! Budgets of kernels in strings: inside the text, and beside it.

use cudarc::nvrtc::compile_ptx;

const INSIDE: &str = r#"
// lmem: budget(stack = 0)
extern "C" __global__ void inside(const int *order, float *out, int n) { //~ budget_exceeded
    float bins[8] = {};
    for (int i = 0; i < n; ++i) bins[order[i] & 7] += 1.0f;
    out[threadIdx.x] = bins[n & 7];
}
"#;

// lmem: budget(stack = 0)
const BESIDE: &str = r#"
extern "C" __global__ void beside(const int *order, float *out, int n) { //~ budget_exceeded
    float bins[8] = {};
    for (int i = 0; i < n; ++i) bins[order[i] & 7] += 1.0f;
    out[threadIdx.x] = bins[n & 7];
}
"#;

const AT_THE_CALL: &str = r#"
extern "C" __global__ void at_the_call(const int *order, float *out, int n) { //~ budget_exceeded
    float bins[8] = {};
    for (int i = 0; i < n; ++i) bins[order[i] & 7] += 1.0f;
    out[threadIdx.x] = bins[n & 7];
}
"#;

pub fn compile() {
    let _ = compile_ptx(INSIDE);
    let _ = compile_ptx(BESIDE);
    // lmem: budget(stack = 0)
    let _ = compile_ptx(AT_THE_CALL);
    // lmem: budget(stack = 0)
    //~^ unused_budget
    let _ = 1;
}
