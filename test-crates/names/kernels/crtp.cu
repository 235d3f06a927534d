#include "views.cuh"
__global__ void through_base(const float *in, const int *order, float *out, int n) {
    Tall table; //~ dynamic_index
    for (int k = 0; k < 24; ++k) table.set(k, in[k * n + threadIdx.x]);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += table.get(order[k]);
    out[threadIdx.x] = sum;
}
#define CELL(t, i) (t)[(i)]
__global__ void in_macro(const float *in, const int *order, float *out, int n) {
    float cell[30]; //~ dynamic_index
    for (int k = 0; k < 30; ++k) CELL(cell, k) = in[k * n + threadIdx.x];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += CELL(cell, order[k]);
    out[threadIdx.x] = sum;
}
