// launch: n = 0, 1, 5; m = 0, 3
// the farthest of nine is replaced
struct Hit { float d; int id; };
extern "C" __global__ void ctl_found_object_replaced(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[9];
    for (int k = 0; k < 9; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    int far = 0;
    for (int j = 1; j < 9; ++j)
        if (a[j].d > a[far].d) far = j;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 9;
        const float d = in[t + x];
        if (d > a[far].d) continue;
        a[far].d = d;
        a[far].id = x;
        far = 0;
        for (int j = 1; j < 9; ++j)
            if (a[j].d > a[far].d) far = j;
        sum += at;
    }
    for (int k = 0; k < 9; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
