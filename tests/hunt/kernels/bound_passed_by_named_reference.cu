// launch: n = 0, 1, 5; m = 0, 3
// a type hides that the bound is passed by reference
typedef int& Number_pn;
static __device__ float scaled_pn(float x, Number_pn bound) { if (x > 0.5f && bound > 2) --bound; return x * bound; }
extern "C" __global__ void bound_passed_by_named_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int bound = n * 5 + 3;
    float kept[28];
    for (int k = 0; k < 28; ++k) kept[k] = in[t + k] + n;
    float sum = 0.0f;
    for (int k = 0; k < bound; ++k) {
        kept[k] = scaled_pn(in[t + k * 3], bound);
        sum += kept[k] * (k + 1);
    }
    out[t] = sum + kept[n] * m;
}
