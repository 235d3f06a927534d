// launch: n = 1, 5, 12; m = 0, 3
// closing brace of the loop inside #if
#define EXTRA 1
extern "C" __global__ void if_half_body(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int last = -1;
    for (int i = 0; i < n; ++i) {
        a[i] = in[t * 12 + i];
#if EXTRA
        last = i;
    }
    for (int i = last; i >= 0; --i) {
        a[i] += a[order[t + i] % n];
    }
#else
    }
#endif
    float s = 0;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    out[t] = s + last;
}
