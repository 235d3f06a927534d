// launch: n = 0, 1, 5, 12, 20; m = 0, 3
// the operator gives an element for any index
struct Ring {
    float v[8];
    int n;
    __device__ float& operator[](int i) { return v[i & 7]; }
    __device__ int size() const { return n; }
};
extern "C" __global__ void subscript_that_wraps(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Ring r;
    r.n = n;
    for (int i = 0; i < 8; ++i) r.v[i] = in[t + i];
    for (int i = 0; i < r.size(); ++i) r[i] = r[i + order[t + i] % 3] * 0.5f + i;
    float s = 0;
    for (int i = 0; i < r.size(); ++i) s = s * 0.5f + r[i];
    out[t] = s;
}
