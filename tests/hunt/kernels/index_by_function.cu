// launch: n = 1, 7, 8, 15; m = 0, 3
// one function folds the index back, the other has two meanings
__device__ int folded(int i) { return i & 7; }
__device__ int twice(int i) { return i * 2; }
__device__ int twice(unsigned i) { return i / 2; }
__device__ int moved(int& i) { return i++ * 1; }
extern "C" __global__ void index_by_function(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < 8; ++i) a[i] = 0;
    for (int i = 0; i < n; ++i) a[folded(i)] += in[i * 64 + t % 64];
    for (unsigned i = 0; i < (unsigned)n; ++i) a[twice(i)] += 0.25f;
    for (int i = 0; i < n / 2; ++i) a[moved(i)] *= 0.5f;
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum = sum * 0.5f + a[(i + order[t]) & 7];
    out[t] = sum;
}
