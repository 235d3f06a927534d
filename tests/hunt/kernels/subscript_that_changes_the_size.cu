// launch: n = 0, 1, 5, 8; m = 0, 3
// the bound is changed by the operator of the loop's element
struct Shrinking {
    float v[8];
    int n;
    __device__ float& operator[](int i) { if (v[i] > 1.0f) --n; return v[i]; }
    __device__ int size() const { return n; }
};
extern "C" __global__ void subscript_that_changes_the_size(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Shrinking r;
    r.n = n;
    for (int i = 0; i < 8; ++i) r.v[i] = in[t + i];
    float s = 0;
    for (int i = 0; i < r.size(); ++i) s = s * 0.5f + r[i] + r.v[order[t + i] & 7];
    out[t] = s + r.n;
}
