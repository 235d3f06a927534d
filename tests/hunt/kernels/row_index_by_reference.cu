// launch: n = 0, 1, 5; m = 0, 3
// the index is a part of the element that is written
struct Hit { float d; int id; };
extern "C" __global__ void row_index_by_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14];
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = 13 - k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        int& to = a[at].id;
        to = at;
        a[to].d += in[t + x];
        a[to].id = (to + 1) % 14;
        a[to].d -= 0.5f;
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
