// launch: n = 0, 1, 5, 12; m = 0, 3
// #if in the string; __CUDACC_RTC__ is defined for NVRTC only
use cudarc::nvrtc::compile_ptx;

const SRC: &str = r##"
#ifdef __CUDACC_RTC__
#define LIMIT(n) (n)
#else
#define LIMIT(n) 12
#endif
extern "C" __global__ void if_inside(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const char* mark = "\"#";
    float a[12] = {};
#if 1
    for (int i = 0; i < LIMIT(n); ++i) {
#else
    for (int i = 0; i < 6; ++i) {
#endif
        a[order[t * 12 + i] % 12] += in[t * 12 + i];
    }
    float s = mark[m & 1];
    for (int i = 0; i < 12; ++i) s = s * 0.5f + a[i];
    out[t] = s;
}
"##;

pub fn load() {
    let _ = compile_ptx(SRC).unwrap();
}
