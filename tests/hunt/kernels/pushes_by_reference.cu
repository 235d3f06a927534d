// launch: n = 0, 1, 5, 12; m = 0, 3
// a helper gets two references that may be to one object
struct List { float v[12]; int len; };
__device__ __forceinline__ void push(List& to, const List& from, float x) { to.v[to.len++] = x + from.len; }
extern "C" __global__ void pushes_by_reference(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    List a, b;
    a.len = b.len = 0;
    for (int i = 0; i < n; ++i) {
        if (order[t + i] & 1) push(a, b, in[t + i]);
        else push(b, b, in[t + i]);
    }
    float s = a.len;
    for (int i = 0; i < a.len; ++i) s = s * 0.5f + a.v[i];
    for (int i = 0; i < b.len; ++i) s = s * 0.25f + b.v[i];
    out[t] = s;
}
