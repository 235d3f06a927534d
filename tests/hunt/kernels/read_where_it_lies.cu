// launch: n = 0, 1, 9; m = 0, 3
// a copy of what nothing writes, through a pointer that promises it
struct Kept { float w[12]; int next[4]; };
__device__ float walk(const Kept* __restrict__ kept, const int* __restrict__ order, int at, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        const Kept own = kept[at & 1023];
        sum = sum * 0.5f + own.w[(order[at + i] & 0x7fffffff) % 12];
        at += own.next[order[at + i + 1] & 3] & 255;
    }
    return sum;
}
extern "C" __global__ void read_where_it_lies(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 8192) return;
    Kept own = reinterpret_cast<const Kept*>(in)[t];
    out[t] = walk(reinterpret_cast<const Kept*>(in), order, t, n) + own.w[(order[t] + m) % 12];
}
