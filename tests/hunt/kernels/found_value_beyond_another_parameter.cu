// launch: n = 0, 5; m = 0, 1
// the search goes over fewer elements than the template's array has, or starts anew at an index that the search before it found
template <int E, int S>
__device__ __forceinline__ float search(const float* in, const int* order, int n, unsigned t)
{
    float p[E];
    for (int e = 0; e < E; ++e)
        p[e] = in[t * E + e];
    float sum = 0;
    int best = S - 1;
    for (int r = 0; r < n; ++r) {
        for (int e = r; e < S; ++e)
            if (p[e] > p[best])
                best = e;
        sum += p[best] * (best + 1);
        p[order[t + r] % E] = sum * 0.01f;
    }
    return sum;
}

extern "C" __global__ void found_value_beyond_another_parameter(const float* in, const int* order, float* out, int n, unsigned m)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = m ? search<12, 9>(in, order, n, t) : search<16, 6>(in, order, n, t);
}
