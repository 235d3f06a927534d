// launch: n = 0, 1, 5; m = 0, 3
// a function takes the element by a name of a reference
struct Hit { float d; int id; };
using Reference = float&;
__device__ void raise(Reference value) { value += 1.0f; }
extern "C" __global__ void alias_by_named_parameter(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[9];
    for (int k = 0; k < 9; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 9;
        raise(a[at].d);
        a[(at + x) % 9].id += (int)(a[at].d * 2.0f);
    }
    for (int k = 0; k < 9; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
