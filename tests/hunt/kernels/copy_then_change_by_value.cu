// launch: n = 0, 1, 5, 12; m = 0, 3
// a copy is changed, the original is still needed
struct Setup { const float* in; const int* order; float* out; int n; unsigned m; float gain[16]; };
extern "C" __global__ void copy_then_change_by_value(Setup s)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Setup c = s;
    for (int i = 0; i < s.n; ++i) c.gain[s.order[t * 12 + i] & 15] -= s.gain[i];
    c.n += 2; c.in += 5;
    float r = 0.0f;
    for (int i = 0; i < 16; ++i) r = r * 0.5f + c.gain[i] - s.gain[15 - i] * c.in[t];
    s.out[t] = r + c.n - 4 * s.n;
}
