// launch: n = 0, 1, 5, 12; m = 0, 3
// names bound to the elements of the array
extern "C" __global__ void structured_binding_refs(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    auto& [p, q, r, u, v, w, x1, x2, x3, x4, x5, x6] = a;
    auto [p0, q0, r0, u0, v0, w0, y1, y2, y3, y4, y5, y6] = a;
    for (int i = 0; i < n; ++i) { a[order[t * 12 + i] % 12] += in[t * 12 + i]; q += p; }
    w = u - r0;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[order[t * 12 + i + 2] % 12];
    out[t] = s + p * p0 - v + q0 + v0 + w0 + u0 + r + x3 - y6;
}
