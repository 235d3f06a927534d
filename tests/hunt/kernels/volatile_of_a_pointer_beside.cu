// launch: n = 1, 64; m = 0, 3
// One `volatile` for a number and for what a pointer beside it leads to, which chooses a function.
__device__ int which(volatile int*) { return 1; }
__device__ int which(int*) { return 2; }
extern "C" __global__ void volatile_of_a_pointer_beside(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = threadIdx.x;
    if (t >= n) return;
    volatile int v = m, *q = (int*)order;
    out[t] = v;
    if (m == 3) out[t] = which(q);
}
