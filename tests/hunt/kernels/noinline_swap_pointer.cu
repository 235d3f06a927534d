// launch: n = 0, 3, 12; m = 0, 3
// passes two pointers, writes one, reads the other after the write
static __device__ __noinline__ int advance(int* pos, const int* limit) { *pos += 3; return *pos < *limit ? *pos : 0; }
extern "C" __global__ void noinline_swap_pointer(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int pos = order[t] & 7, lim = 40, s = 0;
    for (int i = 0; i < n; ++i) {
        s = s * 3 + advance(&pos, i & 1 ? &lim : &pos);
        s &= 0xffff;
        if (pos > 20) lim = pos;
    }
    out[t] = (float)(s + pos * 7 + lim);
}
