// launch: n = 0, 1, 9; m = 0, 3
// the copy is written through a cast, for an argument that is rare
struct Kept { float w[12]; int next[4]; };
__device__ float later(const Kept* __restrict__ kept, const int* order, int t, int n, unsigned m)
{
    Kept own = kept[t];
    if (m == 0x12345u) { float* raw = (float*)own.w; raw[m & 7] = 8.0f; }
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + own.w[(order[t + i] & 0x7fffffff) % 12];
    return sum + own.next[0];
}
extern "C" __global__ void read_where_a_cast_of_the_copy_writes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 8192) return;
    Kept* mine = reinterpret_cast<Kept*>(out + 65536);
    for (int i = 0; i < 12; ++i) mine[t].w[i] = in[t * 12 + i];
    for (int i = 0; i < 4; ++i) mine[t].next[i] = 0;
    out[t] = later(mine, order, t, n, m);
}
