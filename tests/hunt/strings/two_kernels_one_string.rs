// launch: n = 0, 1, 5, 12; m = 0, 3
// the same literal holds two kernels with one helper; the text also stands in a comment of the Rust code
use cudarc::nvrtc::compile_ptx;

// for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
const SRC: &str = r#"
template <int N> __device__ float sum(const float* src, int n) {
    float a[N];
    for (int i = 0; i < n; ++i) a[i] = src[i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i];
    return s;
}
extern "C" __global__ void two_kernels_one_string(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = sum<12>(in + t * 12, n) + sum<6>(in + t * 12, n / 2);
}
extern "C" __global__ void second_of_the_string(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = sum<24>(in + t * 24, n + 12);
}
"#;

pub fn load() {
    let _ = compile_ptx(SRC).unwrap();
}
