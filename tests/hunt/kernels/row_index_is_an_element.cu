// launch: n = 0, 1, 5; m = 0, 3
// the index is read from an element that the first statement changes
struct Hit { float d; int id; };
extern "C" __global__ void row_index_is_an_element(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14];
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        a[at].id = (at + 3) % 14;
        a[a[at].id].d += in[t + x];
        a[a[at].id].id = at;
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
