// launch: n = 0, 1, 5, 12; m = 0, 3
// the array's only writes stand in #if 0; what is compiled writes through a macro
#define SET(v, k, x) v[(k)] = (x)
extern "C" __global__ void dead_branch_text(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int prime[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
#if 0
    prime[3] = 8;
#endif
    SET(prime, order[t] & 15, (int)m);
#ifndef NEVER
    int s = 0;
#else
    for (int i = 0; i < n; ++i) {
#endif
    for (int i = 0; i < n; ++i) s = (s * 3 + prime[order[t * 12 + i] & 15]) & 0xffff;
    out[t] = (float)s;
}
