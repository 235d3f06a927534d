// launch: n = 0, 1, 5, 40; m = 0, 3
// control
template <int K>
struct Ring {
    float data[K];
    int head = 0;
    __device__ Ring(float first) {
        for (int k = 0; k < K; ++k) data[k] = first;
    }
    __device__ void push(float x, int skip) { data[head] = x; head = (head + skip) % K; }
};
extern "C" __global__ void __launch_bounds__(128) ctl_ring_constructor(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Ring<9> ring(0.5f);
    float s = 0.0f;
    for (int k = 0; k < n; ++k) {
        ring.push(in[t * 40 + k], 1 + (order[t * 40 + k] & 3));
        s = s * 0.5f + ring.data[order[t * 40 + k] % 9];
    }
    out[t] = s + m;
}
