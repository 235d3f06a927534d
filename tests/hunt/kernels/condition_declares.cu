// launch: n = 0, 1, 5, 12; m = 0, 3
// the condition declares a variable that the body uses
extern "C" __global__ void condition_declares(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; int left = n - i; ++i) a[i] = in[t * 12 + i] * left;
    float s = 0.0f;
    for (int i = 0, e = n; i < e; ++i) {
        if (const int bit = order[t + i] & 3) s = s * 0.5f + a[i] * bit;
        else { --e; a[i] = a[e]; --i; }
    }
    out[t] = s;
}
