// launch: n = 0, 5, 33; m = 0, 40
// a lambda captures other memory under the array's name
__device__ float total(const float* p, int count)
{
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < count; ++i) s = s * 0.5f + p[i];
    return s;
}
extern "C" __global__ void capture_hides_the_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[32];
    for (int i = 0; i < 32; ++i) a[i] = in[t * 64 + i];
    const float* mine = in + t * 64;
    auto more = [n, a = mine] { return total(a, n); };
    float s = total(a, n < 32 ? n : 32);
    out[t] = s + more();
}
