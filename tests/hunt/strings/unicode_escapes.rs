// launch: n = 0, 1, 5, 12; m = 0, 3
// \x41, \u{3b} and \u{e9} in the literal: columns differ between Rust text and CUDA text
use cudarc::nvrtc::compile_ptx;

const SRC: &str = "/* \u{e9}t\u{e9} \u{2211} */ extern \"C\" __global__ void unicode_escapes(const float* in, const int* order, float* out, int n, unsigned m) {\n    const int t = blockIdx.x * blockDim.x + threadIdx.x\u{3b}\n    float \x61[12]; int i\u{3b} for (i = 0; i < n; ++\x69) a[i] = in[t * 12 + i];\n    float s = 0.0f;\n    for (i = 0; i < n; ++i) { if (a[i] > 0.8f) break\x3b s = s * 0.5f + a[n - 1 - \x69]; }\n    out[t] = s + i;\n}\n";

pub fn load() {
    let _ = compile_ptx(SRC).unwrap();
}
