// launch: n = 1, 5, 12; m = 0, 3
// `head` is element 0 of the array, `rest` begins at element 1
extern "C" __global__ void alias_by_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[13] = {};
    float& head = a[0];
    float* rest = a + 1;
    for (int i = 0; i < n; ++i) { rest[i] = in[t * 12 + i] + head; head += rest[order[t + i] % (i + 1)]; }
    float s = head;
    for (int i = 0; i < n; ++i) s = s * 0.5f + rest[n - 1 - i];
    out[t] = s + a[n];
}
