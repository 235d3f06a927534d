// launch: n = 0, 1, 5; m = 0, 3
// a round that ends early exchanges nothing, and what is written then is read behind the loop
extern "C" __global__ void exchange_leaves_first(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int first[24], second[24];
    int *last = first, *next = second;
    #pragma unroll
    for (int k = 0; k < 24; ++k) last[k] = order[(t + k) & 0xfffff] & 255;
    int best = 0;
    for (int x = 0; x < n * 3 + 5; ++x) {
        #pragma unroll
        for (int k = 0; k < 24; ++k) {
            next[k] = last[k] + (in[t + x] > 0.0f ? last[(k + 1) % 24] : x);
            best = max(best, next[k]);
        }
        if (in[t + x * 3] > 0.8f) break;
        int* kept = last; last = next; next = kept;
    }
    #pragma unroll
    for (int k = 0; k < 24; ++k) best = best * 3 + last[k] + next[k];
    out[t] = (best + m) * 1.0e-6f;
}
