// A parameter and a copy of it in one frame, as `copy_then_change_by_value` has them: the parameter stays where it is.
// right: 1 2
// wrong: 51 52
struct Setup { const float *in; const int *order; float *out; int n; unsigned m; float gain[16]; };
#if V == 1 || V == 52
#define KEPT const __grid_constant__
#else
#define KEPT
#endif
extern "C" __global__ void two_copies(KEPT Setup s) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
#if V == 0
    s.m += 1;
#endif
    Setup c = s;
#if V == 1 || V == 2
    c.m += 1;
#elif V == 51
    Setup *const both = &s;
    for (int i = 0; i < s.n; ++i) both->gain[s.order[t * 12 + i] & 15] -= s.gain[i];
#endif
    for (int i = 0; i < s.n; ++i) c.gain[s.order[t * 12 + i] & 15] -= s.gain[i];
    c.n += 2;
    c.in += 5;
    float r = 0.0f;
    for (int i = 0; i < 16; ++i) r = r * 0.5f + c.gain[i] - s.gain[15 - i] * c.in[t];
    s.out[t] = r + c.n - 4 * s.n + c.m;
}
