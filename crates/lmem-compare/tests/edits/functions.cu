// A table of functions as a switch.
// right: 1 2
// wrong: 51 52 53
typedef float (*Force)(float);
__device__ __noinline__ float wind(float x) { return x * 2.0f; }
__device__ __noinline__ float spring(float x) { return 1.0f - x; }
__device__ __noinline__ float drag(float x) { return x * x; }
__device__ Force forces[3] = {wind, spring, drag};
extern "C" __global__ void functions(const float *in, const int *kind, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < n; ++k) {
        const unsigned f = unsigned(kind[k]) % 3;
#if V == 0
        x = forces[f](x);
#elif V == 1
        switch (f) { case 0: x = wind(x); break; case 1: x = spring(x); break; default: x = drag(x); break; }
#elif V == 2
        x = f == 0 ? x * 2.0f : f == 1 ? 1.0f - x : x * x;
#elif V == 51
        switch (f) { case 0: x = wind(x); break; case 1: x = drag(x); break; default: x = spring(x); break; }
#elif V == 52
        switch (f) { case 0: x = wind(x); break; case 1: x = spring(x); break; }
#elif V == 53
        switch (f) { case 0: x = wind(x); case 1: x = spring(x); break; default: x = drag(x); break; }
#endif
        if (!(x < 100.0f && x > -100.0f)) x = 0.5f;
    }
    out[i] = x;
}
