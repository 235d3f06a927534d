// launch: n = 0, 3, 6; m = 0, 3
// M is below the extent in one instance and above it (with a stop) in the other
template <int N, int M> __device__ __forceinline__ float walk(const float* src, const int* order, int n)
{
    float a[N];
    for (int i = 0; i < N; ++i) a[i] = src[i];
    for (int i = 0; i < n; ++i) a[order[i] % N] -= 0.5f;
    float s = 0.0f;
#pragma unroll 1
    for (int i = 0; i < M; ++i) {
        if (i == N) { s += 100.0f; break; }
        s = s * 0.5f + a[i];
    }
    return s;
}
extern "C" __global__ void two_instances_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * t] = walk<12, 8>(in + t * 16, order + t * 8, n);
    out[2 * t + 1] = walk<6, 9>(in + t * 16, order + t * 8, n);
}
