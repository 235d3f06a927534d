// launch: n = 0, 1, 9; m = 0, 3
// `__restrict__`, but all that is written is written through the pointer itself
struct Kept { float w[12]; int next[4]; };
__device__ float later(const Kept* __restrict__ kept, const int* order, int t, int n)
{
    Kept own = kept[t];
    float* raw = const_cast<float*>(&kept[t].w[0]);
    for (int i = 0; i < 12; ++i) raw[i] += 1.0f + i;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + own.w[(order[t + i] & 0x7fffffff) % 12];
    return sum;
}
extern "C" __global__ void read_where_a_cast_writes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 8192) return;
    Kept* mine = reinterpret_cast<Kept*>(out + 65536);
    for (int i = 0; i < 12; ++i) mine[t].w[i] = in[t * 12 + i];
    for (int i = 0; i < 4; ++i) mine[t].next[i] = 0;
    out[t] = later(mine, order, t, n) + (float)m;
}
