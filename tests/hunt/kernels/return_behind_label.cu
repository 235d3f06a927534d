// launch: n = 0, 1, 20, 25; m = 0, 1, 3
// a label of the switch is entered past the check of the bound
extern "C" __global__ void return_behind_label(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[20];
    for (int k = 0; k < 20; ++k) a[k] = in[t * 20 + k];
    switch (m) {
    case 0: {
        if (n > 20) return;
    case 1:
        for (int i = 0; i < n; ++i) {
            out[t * 32 + i] = i;
            if (i < 20) out[t * 32 + i] += a[i];
        }
    }
    }
}
