//! Bindings of one's own, behind functions of one's own: the text comes from those who call them.

use std::ffi::{CStr, CString};

pub struct Runtime;

impl Runtime {
    pub fn build(&self, source: &str) -> Program {
        compile(&CString::new(source).unwrap())
    }
}

fn compile(source: &CStr) -> Program {
    let mut program = std::ptr::null_mut();
    unsafe {
        nvrtcCreateProgram(&mut program, source.as_ptr(), std::ptr::null(), 0, std::ptr::null(), std::ptr::null());
        nvrtcCompileProgram(program, 0, std::ptr::null());
    }
    Program(program)
}

/// é → ü: several bytes each.
pub fn both(runtime: &Runtime, made: &str) -> [Program; 3] {
    [
        runtime.build("extern \"C\" __global__ void mix(const int *in, int *out, int n) {\n\t/* ü */ int pot[16]; //~ dynamic_index\n\
            #pragma unroll\n\
            for (int k = 0; k < 16; ++k) pot[k] = k;\n\
            for (int k = 0; k < n; ++k) { pot[in[k * 32 + threadIdx.x] & 15] += k; }\n\
            #pragma unroll\n\
            for (int k = 0; k < 16; ++k) out[k * 32 + threadIdx.x] = pot[k];\n}\n"),
        compile(c"extern \"C\" __global__ void plain(int *out) { out[threadIdx.x] = 1; }"),
        runtime.build(made), //~ not_analysed
    ]
}
