// launch: n = 0, 1, 5, 8; m = 0, 3
// the body of the loop writes the bound, a member, by a pointer and by another object
struct Filter {
    float taps[8];
    int n;
    __device__ float back(Filter* other) const {
        float s = 0;
        for (int i = n - 1; i >= 0; --i) { s = s * 0.5f + taps[i]; if (s > 1.0f) other->n = 1; }
        return s;
    }
    __device__ float plain() const {
        float s = 0;
        for (int i = n - 1; i >= 0; --i) s = s * 0.5f + taps[i];
        return s;
    }
};
extern "C" __global__ void member_bound_that_others_write(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Filter f;
    f.n = n;
    for (int i = 0; i < n; ++i) f.taps[i] = in[t + i];
    float s = f.plain() + f.back(&f);
    for (int i = 0; i < f.n; ++i) s = s * 0.5f + f.taps[i];
    out[t] = s;
}
