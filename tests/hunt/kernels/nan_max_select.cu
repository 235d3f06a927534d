// launch: n = 1, 5, 12; m = 0, 3
// NaN and -0: a > b ? a : b is not fmaxf
extern "C" __global__ void nan_max_select(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float top[14];
    for (int i = 0; i < 14; ++i) top[i] = -INFINITY;
    for (int i = 0; i < n; ++i) {
        float x = in[t * 12 + i];
        const int k = order[t * 12 + i] % 14;
        if (k == 3) x = sqrtf(x);        // NaN for negative x
        if (k == 5) x = -0.0f;
        if (k == 6) x = x * INFINITY;
        top[k] = top[k] > x ? top[k] : x;
        top[(k + 1) % 14] = x < top[(k + 1) % 14] ? top[(k + 1) % 14] : 0.0f * x;
    }
    for (int k = 0; k < 14; ++k) out[t * 14 + k] = __int_as_float(__float_as_int(top[k]) & 0xff800001);
    float best = top[0];
    for (int i = 1; i < n && i < 14; ++i) if (!(top[i] <= best)) best = top[i];
    out[131072 + t] = best == best ? 1.0f / best : 3.0f;
}
