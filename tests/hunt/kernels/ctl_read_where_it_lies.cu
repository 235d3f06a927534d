// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// Nothing is written before a copy was used for the last time.
struct Entry { float scale[8]; int next[8]; };
__device__ float scaled(const Entry& e, int at, float x) { return e.scale[at] * (x + (e.next[at] & 3)); }
extern "C" __global__ void ctl_read_where_it_lies(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Entry* all = (const Entry*)in;
    Entry entry = all[order[i & 7] & 1];
    float sum = 0;
    for (unsigned k = 0; k < m; ++k) sum += scaled(entry, order[k] & 7, in[k]);
    out[i] = sum > 1e30f ? 0 : sum;
}
