// Code of a generator: its lines are those of another file.
#line 100 "generated.cu"
__global__ void generated(const float *in, const int *order, float *out, int n) {
    float slots[18]; //~ dynamic_index
    for (int k = 0; k < 18; ++k) slots[k] = in[k * n + threadIdx.x];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += slots[order[k]];
    out[threadIdx.x] = sum;
}
#line 3 "shifted.cu"
__global__ void shifted(const float *in, const int *order, float *out, int n) {
    float shelves[22]; //~ dynamic_index
    for (int k = 0; k < 22; ++k) shelves[k] = in[k * n + threadIdx.x];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += shelves[order[k]];
    out[threadIdx.x] = sum;
}
#line 4 "line.cu"
__global__ void counted_twice(const float *in, const int *order, float *out, int n) {
    float drawers[26]; //~ dynamic_index
    for (int k = 0; k < 26; ++k) drawers[k] = in[k * n + threadIdx.x];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += drawers[order[k]];
    out[threadIdx.x] = sum;
}
