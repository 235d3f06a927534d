// launch: n = 2, 5, 12; m = 0, 1, 3
// DROP_LAST shortens the loop from inside
#define DROP_LAST() (--count)
extern "C" __global__ void macro_assigns_bound(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int count = n;
    float a[12];
    for (int i = 0; i < count; ++i) {
        a[i] = in[t * 12 + i];
        if (a[i] < -0.3f) DROP_LAST();
    }
    float s = 0.0f;
    for (int i = 0; i < count; ++i) s = s * 0.5f + a[i] * a[order[t * 3 + i] % count];
    out[t] = s;
    out[8192 + t] = (float)count;
}
