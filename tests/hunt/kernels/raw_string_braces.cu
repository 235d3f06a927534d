// launch: n = 0, 1, 5, 12; m = 0, 3
// control: a raw string with code in it, before and inside the kernel
static __device__ const char* const help = R"cu(
extern "C" __global__ void raw_string_braces(...) { float a[99]; for (int i = 0; i < n; ++i) a[i] = 0; )cu";
extern "C" __global__ void raw_string_braces(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    const char* tag = R"(float a[4]; } // " /* )";
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i];
    out[t] = s + tag[m] + help[1];
}
