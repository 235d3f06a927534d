// launch: n = 0, 1, 5, 12; m = 0, 3
// #define with a continuation line inside an escaped string: the backslash is \\ followed by \n
use cudarc::nvrtc::compile_ptx;

static KERNEL: &str = "#define NEXT(x) \\\n    if ((x) < 0.0f) { ++skipped; continue; }\n\
#define N 12\n\
extern \"C\" __global__ void define_inside(const float* in, const int* order, float* out, int n, unsigned m)\n\
{\n\
    const int t = blockIdx.x * blockDim.x + threadIdx.x;\n\
    float a[N];\n\
    int skipped = 0;\n\
    for (int i = 0; i < n; ++i) a[i] = in[t * N + i];\n\
#undef N\n\
#define N 3\n\
    float s = 0.0f;\n\
    for (int i = 0; i < n; ++i) { NEXT(a[n - 1 - i]) s = s * 0.5f + a[n - 1 - i] * N; }\n\
    out[t] = s + 8.0f * skipped;\n\
}\n";

pub fn load() {
    let ptx = compile_ptx(KERNEL).expect("kernel");
    let _ = ptx;
}
