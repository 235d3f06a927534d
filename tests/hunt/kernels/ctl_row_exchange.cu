// launch: n = 0, 1, 5; m = 0, 3
// an exchange by hand and one by a call
struct Hit { float d; int id; };
__device__ void exchange(float& one, float& other) { float kept = one; one = other; other = kept; }
extern "C" __global__ void ctl_row_exchange(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14];
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        const float kept = a[at].d;
        a[at].d = a[0].d * 0.5f;
        a[0].d = kept;
        const int other = order[(t + x * 5) & 0xfffff] % 14;
        exchange(a[other].d, a[13].d);
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
