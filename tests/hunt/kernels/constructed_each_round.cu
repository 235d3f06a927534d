// launch: n = 0, 1, 5, 40; m = 0, 1, 3
// the constructor runs in each round, and keeps where the object lies
struct Ring {
    float data[8];
    float* at = data;
    __device__ Ring() {
        for (int k = 0; k < 8; ++k) data[k] = 0.25f * k;
    }
    __device__ void add(int k, float x) { at[k] += x; }
};
extern "C" __global__ void __launch_bounds__(128) constructed_each_round(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (unsigned r = 0; r <= m; ++r) {
        Ring ring;
        for (int k = 0; k < n; ++k) ring.add(order[t * 40 + k] & 7, in[t * 40 + k] + r);
        s = s * 0.5f + ring.data[order[t] & 7];
    }
    out[t] = s;
}
