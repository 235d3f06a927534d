// Results by value in place of addresses.
// right: 1 2
// wrong: 51 52
__device__ __noinline__ void sort_two(float *a, float *b) { if (*b < *a) { const float t = *a; *a = *b; *b = t; } }
struct Two { float a, b; };
__device__ __noinline__ Two sorted(float a, float b) { Two r; r.a = b < a ? b : a; r.b = b < a ? a : b; return r; }
extern "C" __global__ void pair_swap(const float *in, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[3] = {in[i * 3], in[i * 3 + 1], in[i * 3 + 2]};
#if V == 0
    sort_two(&x[0], &x[1]); sort_two(&x[1], &x[2]); sort_two(&x[0], &x[1]);
#elif V == 1
    Two r = sorted(x[0], x[1]); x[0] = r.a; x[1] = r.b;
    r = sorted(x[1], x[2]); x[1] = r.a; x[2] = r.b;
    r = sorted(x[0], x[1]); x[0] = r.a; x[1] = r.b;
#elif V == 2
    if (x[1] < x[0]) { const float t = x[0]; x[0] = x[1]; x[1] = t; }
    if (x[2] < x[1]) { const float t = x[1]; x[1] = x[2]; x[2] = t; }
    if (x[1] < x[0]) { const float t = x[0]; x[0] = x[1]; x[1] = t; }
#elif V == 51
    Two r = sorted(x[0], x[1]); x[0] = r.a; x[1] = r.b;
    r = sorted(x[1], x[2]); x[1] = r.a; x[2] = r.b;
#elif V == 52
    Two r = sorted(x[0], x[1]); x[0] = r.a; x[1] = r.b;
    r = sorted(x[1], x[2]); x[1] = r.b; x[2] = r.a;
    r = sorted(x[0], x[1]); x[0] = r.a; x[1] = r.b;
#endif
    for (int k = 0; k < 3; ++k) out[i * 3 + k] = x[k];
}
