// launch: n = 1, 5, 12; m = 0, 3
// raw string with "# inside (two hashes around), CR LF written as escapes in a second part
use cudarc::nvrtc::compile_ptx;

const SRC: &str = concat!(r##"
#define TEXT "#quoted"
#define STOP(c) if (c) goto out_of_loop
"##, "extern \"C\" __global__ void carriage_and_hash(const float* in, const int* order, float* out, int n, unsigned m)\r\n{\r\n    const int t = blockIdx.x * blockDim.x + threadIdx.x;\r\n    float a[12], s = 0.0f;\r\n    int i = 0;\r\n    for (i = 0; i < n; ++i)\r\n        a[i] = in[t * 12 + i];\r\n    for (i = 0; i < n; ++i) {\r\n        STOP(a[n - 1 - i] > 0.7f);\r\n        s = s * 0.5f + a[i];\r\n    }\r\nout_of_loop:\r\n    out[t] = s + i + sizeof(TEXT);\r\n}\r\n");

pub fn load() {
    let _ = compile_ptx(SRC).unwrap();
}
