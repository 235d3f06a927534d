// launch: n = 1, 5, 12; m = 0, 3
// the array is walked by pointers only; the end pointer moves
extern "C" __global__ void alias_pointer_walk(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12], *end = a;
    for (const float* p = in + t * 12; p < in + t * 12 + n; ++p) *end++ = *p;
    float s = 0.0f;
    for (float* p = a; p != end; ++p) {
        s = s * 0.5f + *p;
        if (*p > 0.5f && end - p > 1) *p = *--end;
        else if (*p < -0.5f) p[0] = p[end - p - 1];
    }
    for (float *p = end; p-- > a;) s = s * 0.5f + *p;
    out[t] = s + (float)(end - a);
}
