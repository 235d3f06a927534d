// launch: n = 1, 64; m = 0, 3, 8
// the method that is called leaves the object as it is
struct Taps { int m; __device__ int scale(int i) const { return i * 5 + m; } };
extern "C" __global__ void ctl_const_method_beside_bound(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int w[8];
    int taps = (int)m;
    Taps c{taps};
    for (int j = 0; j < 8; ++j) w[j] = order[t * 8 + j] * 2 + 1;
    for (int j = 0; j < c.m; ++j) w[j] += order[j];
    int s = 0;
    for (int r = 0; r < 64; ++r) {
        int x = order[r], y = 0;
#pragma unroll 1
        for (int j = 0; j < c.m; ++j) { if (order[j] > 1000000000) y += order[j]; else y += w[j] * x; }
        s = s * 3 + y + c.scale(r);
    }
    out[t] = s;
}
