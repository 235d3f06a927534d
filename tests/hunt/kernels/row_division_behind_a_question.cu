// launch: n = 0, 1, 5; m = 0, 3
// a division by zero that is not evaluated
struct Hit { float d; int id; };
extern "C" __global__ void row_division_behind_a_question(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[22];
    for (int k = 0; k < 22; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 22;
        const int part = order[(t + x) & 0xfffff] & 3;
        a[at].d = in[t + x];
        a[at].id = part != 0 ? 100 / part : -1;
    }
    for (int k = 0; k < 22; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
