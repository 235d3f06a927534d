// launch: n = 0, 5, 9; m = 0, 3
// the method is called for an object of the block, too, of whose elements each thread has one
struct Counts {
    int count[8];
    __device__ void add(int i, int x) { count[i] += x; }
    __device__ int take(int i) { return count[i]++; }
};
extern "C" __global__ void method_of_a_shared_object(const float* in, const int* order, float* out, int n, unsigned m)
{
    __shared__ Counts all[16];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Counts own;
    Counts& other = all[threadIdx.x / 8];
    for (int i = 0; i < 8; ++i) own.count[i] = 0;
    other.count[threadIdx.x & 7] = 0;
    __syncthreads();
    int s = 0;
    for (int i = 0; i < n; ++i) {
        own.add(order[t + i] & 7, i);
        s += own.take(order[t + i + 1] & 7);
        other.add(threadIdx.x & 7, i + 1);
    }
    for (int i = 0; i < 8; ++i) s = s * 3 + own.count[i];
    out[t] = (s & 65535) + other.count[threadIdx.x & 7];
}
