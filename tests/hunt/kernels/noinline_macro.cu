// launch: n = 0, 3, 12; m = 0, 3
// the attribute comes from a macro that other functions need too; one of them counts calls by its static shared
#define COLD __device__ __noinline__
static COLD void bump(int* c) { ++*c; }
static COLD void bump(float* c) { *c += 0.5f; }
static COLD void bump(unsigned char* c) { *c += 100; }
extern "C" __global__ void noinline_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 0; float f = 0; unsigned char c = 0;
    while (i < n) { if (in[t * 12 + i] > 0) bump(&f); bump(&c); bump(&i); }
    out[t] = f + c * 16.0f;
}
