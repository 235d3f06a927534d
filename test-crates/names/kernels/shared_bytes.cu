// Two inlined functions have arrays of their own; ptxas or the front end may give both one object.
__device__ float low(const float *in, const int *order, int n) {
    float first[16]; //~ dynamic_index sm_80 sm_90
    for (int k = 0; k < 16; ++k) first[k] = in[k];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += first[order[k]];
    return sum;
}
__device__ float high(const float *in, const int *order, int n) {
    float second[16]; //~ dynamic_index
    for (int k = 0; k < 16; ++k) second[k] = in[k + 16];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += second[order[k]];
    return sum;
}
__global__ void exclusive(const float *in, const int *order, float *out, int n) {
    out[threadIdx.x] = n > 100 ? low(in + threadIdx.x, order, n) : high(in + threadIdx.x, order, n);
}
__global__ void in_turn(const float *in, const int *order, float *out, int n) {
    float a = low(in + threadIdx.x, order, n);
    out[threadIdx.x] = a + high(in + threadIdx.x * 2, order + n, n);
}
__device__ float big(const float *in, const int *order, int n) {
    float large[32]; //~ dynamic_index
    for (int k = 0; k < 32; ++k) large[k] = in[k];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += large[order[k]];
    return sum;
}
__global__ void unequal(const float *in, const int *order, float *out, int n) {
    float a = big(in + threadIdx.x, order, n);
    out[threadIdx.x] = a + high(in + threadIdx.x * 2, order + n, n);
}
// Equal arrays that are filled on one line.
__global__ void one_line(const float *in, const int *order, const int *other, float *out, int n) {
    float x[12], y[12]; //~ dynamic_index //~ dynamic_index
    for (int k = 0; k < 12; ++k) { x[k] = in[k]; y[k] = in[k + n]; }
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += x[order[k]] * y[other[k]];
    out[threadIdx.x] = sum;
}
__global__ void swapped(const float *in, const int *order, float *out, int n) {
    float x[12], y[12]; //~ dynamic_index //~ dynamic_index
    for (int k = 0; k < 12; ++k) { y[k] = in[k + n]; x[k] = in[k]; }
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += y[threadIdx.x % 12] * x[order[k]];
    out[threadIdx.x] = sum;
}
__global__ void three(const float *in, const int *a, const int *b, const int *c, float *out, int n) {
    float p[10], q[10], r[10]; //~ dynamic_index //~ dynamic_index //~ dynamic_index
    for (int k = 0; k < 10; ++k) { p[k] = in[k]; q[k] = in[k + n]; r[k] = in[k + 2 * n]; }
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += r[c[k]] * p[a[k]] + q[b[k]];
    out[threadIdx.x] = sum;
}
