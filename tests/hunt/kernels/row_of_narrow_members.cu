// launch: n = 0, 1, 5; m = 0, 3
// what is read before is wider than the member
struct Hit { float d; signed char id; unsigned char low; };
extern "C" __global__ void row_of_narrow_members(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14];
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = k; a[k].low = 2 * k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        a[at].d = in[t + x];
        a[at].id = order[(t + x) & 0xfffff];
        a[at].low = order[(t + x + 1) & 0xfffff] + a[at].id;
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id + a[k].low;
    out[t] = sum * 0.125f;
}
