// launch: n = 0, 1, 5; m = 0, 3
// a lambda hides the function of that name
struct Hit { float d; int id; };
__device__ void exchange(float& one, float& other) { float kept = one; one = other; other = kept; }
extern "C" __global__ void row_exchange_hidden(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Hit a[22];
    for (int k = 0; k < 22; ++k) { a[k].d = in[t + k]; a[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 22;
        auto exchange = [&](float& one, float& other) { other = one; };
        exchange(a[at].d, a[0].d);
        sum += a[0].d;
    }
    for (int k = 0; k < 22; ++k) sum += a[k].d + a[k].id;
    out[t] = sum * 0.125f;
}
