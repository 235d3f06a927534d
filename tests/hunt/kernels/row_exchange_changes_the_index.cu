// launch: n = 0, 1, 5; m = 0, 3
// the value that is exchanged decides the index by another name
struct Hit { float d; int id; };
__device__ void exchange(int& one, int& other) { int kept = one; one = other; other = kept; }
extern "C" __global__ void row_exchange_changes_the_index(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14];
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = (k * 5 + 2) % 14; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        int to = at;
        int& name = to;
        exchange(a[to].id, name);
        sum += to;
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
