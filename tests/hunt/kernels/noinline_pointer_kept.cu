// launch: n = 0, 3, 12; m = 0, 3
// the address is stored in a structure and used after the call
struct Cursor { float* at; int left; };
static __device__ __noinline__ void open(Cursor* c, float* buf, int n) { c->at = buf; c->left = n; for (int i = 0; i < n; ++i) buf[i] *= 2.0f; }
extern "C" __global__ void noinline_pointer_kept(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    for (int i = 0; i < n; ++i) a[i] = in[t * 12 + i];
    Cursor c;
    open(&c, a, n);
    float s = 0.0f;
    while (c.left--) { s = s * 0.5f + *c.at; *c.at++ = s; }
    for (int i = 0; i < n; ++i) s += a[i];
    out[t] = s;
}
