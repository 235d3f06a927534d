#include <alloca.h>

// ptxas cannot tell the size of such a stack and reports none.
extern "C" __global__ void scratch(const int *in, int *out, int n) {
    int *buffer = static_cast<int *>(alloca(n * sizeof(int)));
    for (int k = 0; k < n; ++k) buffer[k] = in[k * 256 + threadIdx.x];
    int sum = 0;
    for (int k = n - 1; k >= 0; --k) sum = sum * 3 + buffer[k]; //~ unexplained_local_memory
    out[threadIdx.x] = sum;
}
