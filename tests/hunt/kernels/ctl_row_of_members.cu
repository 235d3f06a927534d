// launch: n = 0, 1, 5; m = 0, 3
// all members of one element
struct Hit { float d; int id; };
extern "C" __global__ void ctl_row_of_members(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14];
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        a[at].d = in[t + x];
        a[at].id += x;
        a[at].d *= 0.5f;
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
