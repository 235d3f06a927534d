// The names of variables stand in calls with expressions as arguments.
__device__ __noinline__ void rows(float *p, int y, int left, int step) {
    for (int k = y; k < left; k += step) p[k] += 1;
}
__global__ void tail(const float *x, float *out, int nrows_x, int row_x_0) {
    float tile[16]; //~ address_escape
    for (int k = 0; k < 16; ++k) tile[k] = x[k * nrows_x + threadIdx.x];
    rows(tile, threadIdx.y, nrows_x-row_x_0-1, 1);
    rows(tile,
         threadIdx.y, nrows_x-row_x_0-1, 2);
    for (int k = 0; k < 16; ++k) out[k] = tile[k];
}
template <int R>
__device__ __forceinline__ void load_tile(const float *x, int *ql, int *qs, const int &i_offset, const int &i_max, const int &k) {
    for (int i0 = 0; i0 < R; i0 += 4) { int i = min(i0 + i_offset, i_max); ql[i & 15] = x[i * 3 + k]; qs[i & 7] = x[i]; }
}
__global__ void tiles(const float *x, float *out, int nrows_x, int row_x_0) {
    int ql[16] = {}, qs[8] = {}; //~ dynamic_index //~ dynamic_index
    load_tile<16>(x, ql, qs,
        threadIdx.y, nrows_x-row_x_0-1, threadIdx.x);
    out[threadIdx.x] = ql[threadIdx.x & 15] + qs[threadIdx.x & 7];
}
