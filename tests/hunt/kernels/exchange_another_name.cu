// launch: n = 0, 1, 5; m = 0, 3
// another pointer is to one of the buffers
extern "C" __global__ void exchange_another_name(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int first[24], second[24];
    int *last = first, *next = second;
    #pragma unroll
    for (int k = 0; k < 24; ++k) last[k] = order[(t + k) & 0xfffff] & 255;
    int* third = last;
    int best = 0;
    for (int x = 0; x < n * 3 + 5; ++x) {
        #pragma unroll
        for (int k = 0; k < 24; ++k) {
            next[k] = last[k] + (in[t + x] > 0.0f ? last[(k + 1) % 24] : x);
            best = max(best, next[k]);
        }
        int* kept = last; last = next; next = kept;
    }
    #pragma unroll
    for (int k = 0; k < 24; ++k) best = best * 3 + last[k] + third[k];
    out[t] = (best + m) * 1.0e-6f;
}
