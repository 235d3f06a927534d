// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// A method gets the counters of long loops.
template <int N> struct Packed {
    float v[N * (N + 1) / 2];
    __device__ float& at(int i, int j) { return v[i * (i + 1) / 2 + j]; }
};
extern "C" __global__ void ctl_counter_of_a_method(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Packed<9> L;
    for (int r = 0; r < 9; ++r)
        for (int c = 0; c <= r; ++c) L.at(r, c) = in[r + c] + i * 0.01f + (r == c) * 40;
    float det = 0;
    for (int j = 0; j < 9; ++j) {
        float d = L.at(j, j);
        for (int k = 0; k < j; ++k) d -= L.at(j, k) * L.at(j, k);
        d = sqrtf(fabsf(d) + 1);
        L.at(j, j) = d;
        det += d;
        for (int r = j + 1; r < 9; ++r) {
            float s = L.at(r, j);
            for (int k = 0; k < j; ++k) s -= L.at(r, k) * L.at(j, k);
            L.at(r, j) = s / d;
        }
    }
    out[i] = det + m;
}
