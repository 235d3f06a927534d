// launch: n = 0, 1, 3; m = 0, 7
// the array has as many elements as the template says, and the search ends there
template <int E>
__device__ __forceinline__ void route(const float* in, float* out, int rounds, unsigned t)
{
    float p[E];
#pragma unroll
    for (int e = 0; e < E; ++e)
        p[e] = in[t * E + e];
    for (int r = 0; r < rounds; ++r) {
        int best = 0;
#pragma unroll
        for (int e = 1; e < E; ++e)
            if (p[e] > p[best])
                best = e;
        out[(t * 4 + r) * 2] = best;
        out[(t * 4 + r) * 2 + 1] = p[best];
        p[best] = -2.f;
    }
}

extern "C" __global__ void ctl_found_value_of_a_template(const float* in, const int* order, float* out, int n, unsigned m)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    route<16>(in + m, out, n, t);
}
