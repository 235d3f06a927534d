// launch: n = 1, 3; m = 1, 20
// `t` of the loop that a macro writes is not the thread
#define EACH_OF(i, n) for (int i = 0; i < (n); i++)
extern "C" __global__ void __launch_bounds__(128) kernel_loop_shadow(const float* in, const int* order, float* out, int n, unsigned m) {
    const int t = threadIdx.x;
    float sum = t;
    EACH_OF(t, n) {
        if (t == 0) {
            float w[64];
#pragma unroll
            for (int i = 0; i < 64; i++) w[i] = in[threadIdx.x * 64 + i];
            for (unsigned s = 0; s < m; s++) {
                sum += w[order[s + threadIdx.x] & 63];
                w[order[s + 1] & 63] = sum;
            }
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
static void run(const float* in, const int* order, float* out) { kernel_loop_shadow<<<64, 128>>>(in, order, out, 3, 20); }
