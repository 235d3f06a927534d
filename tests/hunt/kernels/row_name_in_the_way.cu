// launch: n = 0, 1, 5; m = 0, 3
// a name in the second statement is that of a counter
struct Hit { float d; int id; };
extern "C" __global__ void row_name_in_the_way(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14];
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        for (int k = 0; k < 2; ++k) {
            a[at].d += in[t + x + k];
            a[at].id += k;
        }
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
