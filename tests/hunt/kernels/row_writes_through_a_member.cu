// launch: n = 0, 1, 5; m = 0, 3
// a member points to what is read behind it
struct Hit { float d; int id; float* to; };
extern "C" __global__ void row_writes_through_a_member(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[14]; float side[4] = {};
    for (int k = 0; k < 14; ++k) { a[k].d = in[t + k]; a[k].id = k; a[k].to = side + (k & 3); }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        *a[at].to = in[t + x] * 3.0f;
        a[at].d = side[(at + 1) & 3];
        sum += a[at].d;
    }
    for (int k = 0; k < 14; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
