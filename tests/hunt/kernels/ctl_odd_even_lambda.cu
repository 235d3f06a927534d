// launch: n = 0, 1, 5, 8; m = 0
// a lambda gets the counter, which begins at 0 or 1
extern "C" __global__ void ctl_odd_even_lambda(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float key[8];
    for (int k = 0; k < n; ++k) key[k] = in[t * 8 + k];
    auto sort2 = [&](int i, int j) {
        float a = key[i], b = key[j];
        key[i] = fminf(a, b);
        key[j] = fmaxf(a, b);
    };
    for (int r = 0; r < n; ++r)
        for (int k = r & 1; k + 1 < n; k += 2) sort2(k, k + 1);
    float s = 0;
    for (int k = 0; k < n; ++k) s = s * 0.5f + key[k];
    out[t] = s;
}
