#define HH_CAT2(a, b) a##b
#define HH_CAT(a, b) HH_CAT2(a, b)
static __device__ float HH_CAT(hh_, HH_EXTENT)(const float* src, const int* order, int n)
{
    float v[HH_EXTENT];
    const int lim = n < HH_EXTENT ? n : HH_EXTENT;
    for (int i = 0; i < lim; ++i) v[i] = src[i];
    for (int i = 0; i < n; ++i) v[order[i] % lim] += v[lim - 1 - order[i] % lim];
    float s = 0.0f;
    for (int i = 0; i < lim; ++i) {
#if HH_EXTENT == 6
        if (v[i] > 0.3f) break;
#endif
        s = s * 0.5f + v[i];
    }
    return s;
}
