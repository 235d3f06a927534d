// launch: n = 1, 5, 12; m = 0, 1
// the update changes the other half of the condition: when the loop is over it must not be evaluated again
extern "C" __global__ void update_toggles_condition(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) a[order[t + i] % 12] += 0.25f;
    bool go = true;
    float s = 0.0f;
    for (int i = 0; go && i < n; ++i, go = (order[t] >> i & 3) != 0) s = s * 0.5f + a[i];
    out[t] = s + go;
}
