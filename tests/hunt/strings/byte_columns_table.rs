// launch: n = 0, 5, 12; m = 0, 3
// a constant table in an escaped string, changed at one place further down
use cudarc::nvrtc::compile_ptx;

fn source() -> &'static str {
    "extern \"C\" __global__ void byte_columns_table(const float* in, const int* order, float* out, int n, unsigned m)\n{\n    const int t = blockIdx.x * blockDim.x + threadIdx.x;\n    int tab[16] = { 1, 2, 4, 8, 16, 32, 64, 128,\t3, 9, 27, 81,\t5, 25, 125, 7 };\n    int s = 0;\n    for (int i = 0; i < n; ++i) s = (s * 3 + tab[order[t * 12 + i] & 15]) & 0xffff;\n    if (s & 1) tab[s & 15] = 1000;\n    for (int i = 0; i < n; ++i) s = (s * 3 + tab[order[t * 12 + i + 1] & 15]) & 0xffff;\n    out[t] = (float)s;\n}\n"
}

pub fn load() {
    let _ = compile_ptx(source()).unwrap();
    let _ = compile_ptx("extern \"C\" __global__ void byte_columns_direct(const float* in, const int* order, float* out, int n, unsigned m) {\n int t = blockIdx.x * blockDim.x + threadIdx.x;\n int tab[16] = { 1, 2, 4, 8, 16, 32, 64, 128,\t3, 9, 27, 81,\t5, 25, 125, 7 };\n int s = 0;\n for (int i = 0; i < n; ++i) { s = (s * 3 + tab[order[t * 12 + i] & 15]) & 0xffff; if (s & 1) tab[s & 15] = 1000; }\n out[t] = (float)s;\n}\n").unwrap();
}
