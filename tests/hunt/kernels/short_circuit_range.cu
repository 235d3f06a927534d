// launch: n = 0, 1, 5, 12; m = 0, 3
// the index may be outside the array; && keeps it from being read
extern "C" __global__ void short_circuit_range(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int used[12] = {};
    int a[12];
    for (int i = 0; i < 12; ++i) a[i] = order[t * 12 + i] % 25 - 6;
    int hops = 0, at = order[t] % 12;
    while (at >= 0 && at < 12 && !used[at]) { used[at] = 1; ++hops; at = a[at]; }
    int neg = 0;
    for (int i = 0; i < n; ++i) { const int k = a[i]; neg += k >= 0 && k < 12 && a[k] < 0 || k < -3; }
    out[t] = (float)(hops * 1000 + neg * 100 + at);
}
