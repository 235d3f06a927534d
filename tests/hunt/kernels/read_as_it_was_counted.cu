// launch: n = 0, 1, 9; m = 0, 3
// a class whose copies count themselves
struct Kept {
    float w[12];
    int copies;
    __device__ Kept(const Kept& other) : copies(other.copies + 1) { for (int i = 0; i < 12; ++i) w[i] = other.w[i] + 1.0f; }
};
__device__ float walk(const Kept* __restrict__ kept, const int* order, int t, int n)
{
    Kept own = kept[t];
    float sum = own.copies & 1;
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + own.w[(order[t + i] & 0x7fffffff) % 12];
    return sum;
}
extern "C" __global__ void read_as_it_was_counted(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 8192) return;
    out[t] = walk(reinterpret_cast<const Kept*>(in), order, t, n) + (float)m;
}
