//! Literals with escapes and with text of several bytes a character before what is reported.

use cudarc::nvrtc::{CompileError, Ptx, compile_ptx};

const OVERVIEW: &str = "/* startr als π: \u{3c0}\t→ */ extern \"C\" __global__ void sort_key(const int *in, int *out, int n) {\n\
    \t/* Größe: \u{e4} */ int start = 0; /* ärgerlich */ int bucket[20]; //~ dynamic_index\n\
    #pragma unroll\n\
    for (int k = 0; k < 20; ++k) bucket[k] = start;\n\
    for (int k = 0; k < n; ++k) { /* \"ä\" */ bucket[in[k * 32 + threadIdx.x] % 20] += k; }\n\
    #pragma unroll\n\
    for (int k = 0; k < 20; ++k) out[k * 32 + threadIdx.x] = bucket[k];\n}\n";

pub fn compiled() -> Result<Ptx, CompileError> {
    compile_ptx(OVERVIEW)
}
