// launch: n = 0, 1, 5, 40; m = 0, 3
// what the destructor writes would be lost where nobody runs it
struct Ring {
    float data[8];
    float* result;
    __device__ explicit Ring(float* result) : result(result) {
        for (int k = 0; k < 8; ++k) data[k] = 0.0f;
    }
    __device__ ~Ring() {
        for (int k = 0; k < 8; ++k) result[k] = data[k];
    }
};
extern "C" __global__ void __launch_bounds__(128) destructor_writes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Ring ring(out + t * 8);
    for (int k = 0; k < n; ++k) ring.data[order[t * 40 + k] & 7] += in[t * 40 + k] + m;
}
