// launch: n = 0, 1, 9; m = 0, 3
// a method that is `const` casts that away
struct Kept { float w[12]; int next[4]; };
struct Poked : Kept { __device__ void poke(unsigned m) const { const_cast<float*>(w)[m & 7] = 2.5f; } };
__device__ float later(const Poked* __restrict__ kept, const int* order, int t, int n, unsigned m)
{
    Poked own = kept[t];
    if (m == 0x12345u) kept[t].poke(m);
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + own.w[(order[t + i] & 0x7fffffff) % 12];
    return sum + own.next[0];
}
extern "C" __global__ void read_where_a_const_method_writes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 8192) return;
    Kept* mine = reinterpret_cast<Kept*>(out + 65536);
    for (int i = 0; i < 12; ++i) mine[t].w[i] = in[t * 12 + i];
    for (int i = 0; i < 4; ++i) mine[t].next[i] = 0;
    out[t] = later(static_cast<Poked*>(mine), order, t, n, m);
}
