// launch: n = 0, 1, 5, 12; m = 0, 3
// `s` and `gain` mean other things inside; a lambda has its own copy
struct Setup { const float* in; const int* order; float* out; int n; unsigned m; float gain[16]; };
extern "C" __global__ void shadowed_name_by_value(Setup s)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float gain = 0.25f;
    auto snap = [s](int k) mutable { return s.gain[k & 15] += 1.0f; };
    for (int i = 0; i < s.n; ++i) {
        s.gain[s.order[t * 12 + i] & 15] = gain;
        gain = gain * 0.5f + snap(s.order[t * 12 + i]);
        { struct { float gain[2]; } s = {{1.0f, 2.0f}}; gain += s.gain[i & 1]; }
    }
    float r = gain;
    for (int i = 0; i < 16; ++i) r = r * 0.5f + s.gain[i];
    s.out[t] = r;
}
