// launch: n = 0, 1, 20; m = 0, 3
// the flag that is read is another than the one that is written
extern "C" __global__ void flags_toggled_by_steps(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool on[64];
    int cleared = 0;
    for (int i = 0; i < 64; cleared += ++i & 1) on[i] = false;
    int k = order[t] & 15;
    auto next = [&] { k = (k + 5) & 63; return k; };
    for (int i = 0; i < n; ++i) {
        on[next()] = !on[next()];
        on[order[t + i] & 63] = !on[order[t + i + 1] & 63];
    }
    float sum = cleared + in[t] * m;
    for (int i = 0; i < 64; ++i) sum = sum * 0.75f + on[i];
    out[t] = sum + k;
}
