// launch: n = 1, 5, 20; m = 0, 3
// the name of the array is made of two parts
#define PART(which, i) (ke##which[(i) & 7])
extern "C" __global__ void macro_pastes_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[8];
    for (int i = 0; i < 8; ++i) kept[i] = in[t * 8 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        kept[(order[t + i] + (int)m) & 7] += 0.5f;
        s += 0.5f * PART(pt, order[t + i] >> 3);
    }
    out[t] = s;
}
