// launch: n = 1, 5, 12; m = 0, 3
// a loop that is entered in the middle
extern "C" __global__ void duff_device(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    const float* from = in + t * 12;
    float* to = a;
    int rounds = (n + 3) / 4;
    switch (n % 4) {
    case 0: do { *to++ = *from++;
    case 3:      *to++ = *from++;
    case 2:      *to++ = *from++;
    case 1:      *to++ = *from++;
            } while (--rounds > 0);
    }
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[n - 1 - i] + a[order[t + i] % n];
    out[t] = s + (float)(to - a);
}
