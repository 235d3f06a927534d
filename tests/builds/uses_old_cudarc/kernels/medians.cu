// Compiled when the program runs.
extern "C" __global__ void medians(const float* in, const int* index, float* out, int n) {
    float window[44] = {};
    for (int i = 0; i < n; ++i) {
        window[index[i] % 44] = in[i];
    }
    for (int i = 0; i < 44; ++i) {
        out[threadIdx.x * 44 + i] = window[i];
    }
}
