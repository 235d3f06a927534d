// launch: n = 1, 5, 20; m = 0, 3
// the macro writes elements through a pointer that the text made before
#define CLEAR() *at = 0.25f; at = kept_end - at > 1 ? at + 1 : first;
extern "C" __global__ void macro_hides_alias_write(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float kept[12];
    float *first = kept, *kept_end = kept + 12, *at = first;
    for (int i = 0; i < 12; ++i) kept[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        s += kept[(order[t + i] & 7) + (int)m];
        CLEAR();
    }
    out[t] = s;
}
