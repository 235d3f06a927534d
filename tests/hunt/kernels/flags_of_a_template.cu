// launch: n = 0, 1, 5, 12; m = 0, 3
// two instances, one with more flags than a word has
template <int N>
__device__ int first_free(const int* order, int n)
{
    bool taken[N];
    for (int i = 0; i < N; ++i) taken[i] = false;
    for (int i = 0; i < n; ++i) taken[order[i] % N < 0 ? 0 : order[i] % N] = true;
    int at = 0;
    while (at < N && taken[at]) ++at;
    return at;
}
extern "C" __global__ void flags_of_a_template(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = (float)(first_free<40>(order + t, n) + first_free<72>(order + t, n));
}
