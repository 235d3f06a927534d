// launch: n = 1, 5, 40; m = 0, 3
// the macro's condition ends the loop through the flag that the loop asks
#define CHECK(v) if ((v) < -0.5f) going = 0;
extern "C" __global__ void macro_hides_loop_exit(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[40];
    int going = 1;
    for (int i = 0; i < 40; ++i) kept[i] = in[t * 40 + i];
    float s = 0.0f;
    for (int i = 0; i < n && going; ++i) {
        s += kept[i] + (float)m;
        CHECK(kept[i]);
    }
    for (int i = 0; i < n && going; ++i) { s += kept[i] * 2.0f; }
    out[t] = s;
}
