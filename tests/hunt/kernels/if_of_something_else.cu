// launch: n = 1, 5; m = 0, 3, 50
// another build prints, and does not name the flags
#include <cstdio>
extern "C" __global__ void if_of_something_else(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen[32] = {};
    int found = 0;
    for (unsigned s = 0; s < m; s++) {
        int p = order[t + s] & 31;
        if (!seen[p]) found++;
        seen[p] = true;
    }
#ifdef VERBOSE
    if (t == 0) {
        printf("found %d\n", found);
    }
#else
    found += n;
#endif
    out[t] = found + in[t];
}
