// launch: n = 0, 1, 5, 12; m = 0, 3
// the literal goes through replace() before it is compiled: CAPACITY is not a C++ name
use cudarc::nvrtc::compile_ptx;

const SRC: &str = r#"
#ifndef CAPACITY
#define CAPACITY 12
#endif
extern "C" __global__ void raw_braces_format(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[CAPACITY];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    int i = 0;
    while (i < n && a[i++] < 0.75f) s = s * 0.5f + a[i - 1];
    out[t] = s + i;
}
"#;

pub fn load() {
    let _ = compile_ptx(SRC).unwrap();
}
