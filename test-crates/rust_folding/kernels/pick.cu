extern "C" __global__ void pick(const int *in, int *out, int n) {
    int cell[WIDTH]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) cell[k] = 0;
    for (int k = 0; k < n; ++k) cell[in[k * 32 + threadIdx.x] % WIDTH] += k;
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) out[k * 32 + threadIdx.x] = cell[k];
}
