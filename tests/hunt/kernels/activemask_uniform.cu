// launch: n = 1, 5, 12; m = 0, 3
// counts the lanes that are there in each round (all 32, as n is the same for all)
extern "C" __global__ void activemask_uniform(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int lanes = 0;
    for (int i = 0; i < n; ++i) { a[i] = in[t * 12 + i]; lanes += __popc(__activemask()); }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) { s = s * 0.5f + a[n - 1 - i]; lanes += __popc(__match_any_sync(__activemask(), order[t + i] & 1)); }
    out[t] = s;
    out[8192 + t] = (float)lanes;
}
