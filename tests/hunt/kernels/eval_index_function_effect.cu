// launch: n = 0, 1, 5, 12; m = 0, 3
// the index function moves a generator: it must run exactly once per access
struct Lcg { unsigned s; __device__ unsigned next() { return s = s * 1664525u + 1013904223u; } };
extern "C" __global__ void eval_index_function_effect(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Lcg g = { (unsigned)order[t] + m };
    float a[8] = {};
    for (int i = 0; i < n; ++i) a[(g.next() >> 24) & 7] += in[t * 12 + i];
    a[g.next() >> 29] = 5.0f;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[(g.next() >> 20) % 8u];
    out[2 * t] = s;
    out[2 * t + 1] = (float)(g.s >> 8);
}
