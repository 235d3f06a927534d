// launch: n = 1, 7, 20; m = 0, 3
// two threads of a warp are behind the condition
extern "C" __global__ void __launch_bounds__(128) leaders_of_half_warps(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;
    float s = 0.0f;
    if (lane % 16 == 0 || lane == 3) {
        float top[20];
        for (int i = 0; i < n; ++i) {
            const float v = in[t * 3 + i];
            int j = i;
            while (j > 0 && top[j - 1] > v) { top[j] = top[j - 1]; --j; }
            top[j] = v;
        }
        s = top[n / 2] + top[n - 1] * (float)m;
    }
    out[t] = s;
}
