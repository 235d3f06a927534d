//! `format!` with braces and names, `concat!`, a string that grows; a finding lies in the piece that it comes from.

use cudarc::nvrtc::{Ptx, compile_ptx};

const COUNT: usize = 18;

const BODY: &str = "\
    int lane[COUNT]; //~ dynamic_index\n\
    #pragma unroll\n\
    for (int k = 0; k < COUNT; ++k) lane[k] = 0;\n\
    for (int k = 0; k < n; ++k) { /* ß */ lane[in[k * 32 + threadIdx.x] % COUNT] += k; }\n\
    #pragma unroll\n\
    for (int k = 0; k < COUNT; ++k) out[k * 32 + threadIdx.x] = lane[k];\n";

pub fn formatted() -> Ptx {
    let name = "lanes";
    compile_ptx(format!("#define COUNT {COUNT}\nextern \"C\" __global__ void {name}(const int *in, int *out, int n) {{\n{}}}", BODY)).unwrap()
}

pub fn joined() -> Ptx {
    compile_ptx(concat!("#define WIDE ", 20, "\nextern \"C\" __global__ void ", "wide", r#"(const int *in, int *out, int n) {
    int step[WIDE]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < WIDE; ++k) step[k] = 0;
    for (int k = 0; k < n; ++k) step[in[k * 32 + threadIdx.x] % WIDE] += k;
#pragma unroll
    for (int k = 0; k < WIDE; ++k) out[k * 32 + threadIdx.x] = step[k];
}"#)).unwrap()
}

pub fn grown() -> Ptx {
    let mut source = String::from("extern \"C\" __global__ void grown(int *out) {");
    source.push_str(" out[threadIdx.x] = 1; ");
    source += "}";
    compile_ptx(&source).unwrap()
}
