// launch: n = 0, 1, 5; m = 0, 3
// the bound lies in global memory, and the loop writes it
__device__ int taps_dm[8192] = {0};
extern "C" __global__ void bound_in_device_memory(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int* own = &taps_dm[t];
    *own = 26;
    float window[28];
    for (int k = 0; k < 28; ++k) window[k] = in[t + k];
    for (int k = 0; k < taps_dm[t]; ++k) {
        window[k] += in[t + k * 5];
        if (window[k] > 0.5f) *own = 13 + n % 4;
    }
    out[t] = window[0] + window[2] * 2.0f + window[4 + n] * 3.0f + window[n] * m;
}
