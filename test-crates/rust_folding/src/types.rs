//! A template whose type is a trait's constant: each type that has it is one kernel.

use cudarc::nvrtc::{Ptx, compile_ptx};

pub trait Element {
    const NAME: &'static str;
}

impl Element for f32 {
    const NAME: &'static str = "float";
}

impl Element for f64 {
    const NAME: &'static str = "double";
}

const TEMPLATE: &str = r#"
extern "C" __global__ void gather_$T(const int *in, $T *out, int n) {
    $T sum[22]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 22; ++k) sum[k] = 0;
    for (int k = 0; k < n; ++k) sum[in[k * 32 + threadIdx.x] % 22] += k;
#pragma unroll
    for (int k = 0; k < 22; ++k) out[k * 32 + threadIdx.x] = sum[k];
}
"#;

pub fn gather<E: Element>() -> Ptx {
    compile_ptx(TEMPLATE.replace("$T", E::NAME)).unwrap()
}

/// A type that is only known when the program runs.
pub fn of(element: &str) -> Ptx {
    compile_ptx(TEMPLATE.replace("$T", element)).unwrap() //~ not_analysed
}
