// launch: n = 0, 1, 5, 12; m = 0, 3
// one escaped literal: \n, \t, \", and a backslash at the end of a Rust line swallows newline and indentation
use cudarc::nvrtc::compile_ptx;

pub fn load() {
    let ptx = compile_ptx(
        "extern \"C\" __global__ void escaped_newlines(const float* in, const int* order, float* out, int n, unsigned m)\n{\n\
         \tconst int t = blockIdx.x * blockDim.x + threadIdx.x;\n\tfloat a[12];\n\tint i; // counter\n\
         \tfor (i = 0; i < n; ++i) {\n\t\ta[i] = in[t * 12 + i];\n\t\tif (a[i] > 0.9f) break;\n\t}\n\
         \tfloat s = 0.0f; /* \\ */ \n\tfor (int k = i - 1; k >= 0 && k < n; --k) s = s * 0.5f + a[k];\n\
         \tout[t] = s + i;\n}\n",
    )
    .unwrap();
    let _ = ptx;
}
