// launch: n = 1, 64; m = 0, 3, 7
// `volatile` numbers of two functions that take turns in one place.
__device__ unsigned lower(unsigned x) { volatile const unsigned step = 1; return x - step; }
__device__ unsigned raise(unsigned x) { volatile const unsigned step = 3; return x * step; }
extern "C" __global__ void ctl_volatile_in_turns(const float* in, const int* order, float* out, int n, unsigned m) {
    unsigned x = threadIdx.x;
    for (int j = 0; j < n; ++j) {
        if (order[j] & 1) x = raise(x);
        if (order[j] & 2) x = raise(lower(x));
        if (x == m) x = lower(x);
    }
    out[threadIdx.x] = (float)(x & 0xffff);
}
