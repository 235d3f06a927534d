// launch: n = 0, 1, 5, 12; m = 0, 3
// the text of the code is data: LEN("a[i]") changes when the text is rewritten, __LINE__ when a line is inserted
#define TEXT_OF(x) (int)(sizeof(#x))
extern "C" __global__ void stringised_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[order[t + i] % n] + TEXT_OF(a[order[t + i] % n]);
    out[t] = s + __LINE__;
}
