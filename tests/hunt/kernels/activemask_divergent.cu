// launch: n = 4, 8, 12; m = 0, 3
// the trip count differs from thread to thread; __ballot_sync with the mask of those that are still in
extern "C" __global__ void activemask_divergent(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    const int lim = n - (threadIdx.x & 3);
    for (int i = 0; i < lim; ++i) a[i] = in[t * 12 + i];
    unsigned mask = 0xffffffffu, votes = 0;
    for (int i = 0; i < lim; ++i) {
        const unsigned b = __ballot_sync(mask, a[i] > 0.0f);
        votes = votes * 33u + b;
        mask = __ballot_sync(mask, i + 1 < lim);
    }
    float s = 0.0f;
    for (int i = 0; i < lim; ++i) s = s * 0.5f + a[lim - 1 - i];
    out[2 * t] = s;
    out[2 * t + 1] = (float)(votes & 0xffffff);
}
