// launch: n = 0, 1, 5, 12; m = 0, 3
// the parameter is written at a dynamic index
struct Setup { const float* in; const int* order; float* out; int n; unsigned m; float gain[16]; };
extern "C" __global__ void writes_gain_by_value(Setup s)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < s.n; ++i) s.gain[s.order[t * 12 + i] & 15] += s.in[t * 12 + i];
    float r = 0.0f;
    for (int i = 0; i < 16; ++i) r = r * 0.5f + s.gain[i];
    s.out[t] = r + s.m;
}
