#include "b.cuh"
#define ALL(x) for (int i = 0; i < N; ++i) x
__global__ void k(int *p) {
    int a[N];
#pragma unroll
ALL(a[i] = p[i];)
#if N > 3 && defined(ALL)
    p[0] = a[p[1]];
#else
    p[0] = 0;
#endif
}
