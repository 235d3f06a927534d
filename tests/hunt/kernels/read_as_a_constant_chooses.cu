// launch: n = 0, 1, 9; m = 0, 3
// a constructor is chosen by whether its argument is `const`
struct Kept { float w[12]; int next[4]; };
struct Taken {
    float x;
    __device__ Taken(Kept& it) : x(it.w[1]) {}
    __device__ Taken(const Kept& it) : x(it.next[0] == 987654321 ? 0.0f : it.w[1]) {}
};
__device__ float later(const Kept* __restrict__ kept, const int* order, int t, int n, unsigned m)
{
    Kept own = kept[t];
    Taken taken = own;
    n += taken.x > 8.0f;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + own.w[(order[t + i] & 0x7fffffff) % 12];
    return sum + own.next[0];
}
extern "C" __global__ void read_as_a_constant_chooses(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 8192) return;
    Kept* mine = reinterpret_cast<Kept*>(out + 65536);
    for (int i = 0; i < 12; ++i) mine[t].w[i] = in[t * 12 + i];
    for (int i = 0; i < 4; ++i) mine[t].next[i] = 0;
    out[t] = later(mine, order, t, n, m);
}
