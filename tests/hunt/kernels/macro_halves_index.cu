// launch: n = 0; m = 1, 20
// a macro changes the number of the thread, so that two have the first one
#define STEP() t /= 2
extern "C" __global__ void __launch_bounds__(128) macro_halves_index(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = threadIdx.x;
    float sum = t;
    STEP();
    if (t == 0) {
        float w[64];
#pragma unroll
        for (int i = 0; i < 64; i++) w[i] = in[threadIdx.x * 64 + i];
        for (unsigned s = 0; s < m; s++) {
            sum += w[order[s + threadIdx.x] & 63];
            w[order[s + 1] & 63] = sum;
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum + n;
}
static void run(const float* in, const int* order, float* out) { macro_halves_index<<<64, 128>>>(in, order, out, 0, 20); }
