// launch: n = 0, 1, 5; m = 0, 3
// the index is moved to the neighbour
struct Hit { float d; int id; };
extern "C" __global__ void found_object_index_moves(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[9];
    for (int k = 0; k < 9; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 9;
        a[at].d = in[t + x];
        int best = 0;
        for (int j = 1; j < 9; ++j)
            if (a[j].d < a[best].d) best = j;
        if (best < 8) ++best;
        sum += a[best].d + a[best].id;
    }
    for (int k = 0; k < 9; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
