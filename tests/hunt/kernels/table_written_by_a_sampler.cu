// launch: n = 0, 7; m = 0
// the class that is made of the table takes its constness away, and counts in it
struct Sampler {
    const int* table;
    __device__ Sampler(int n, const int* table) : table(table + n) {}
    __device__ int next(int i) const {
        int* own = const_cast<int*>(table);
        return own[i] += i;
    }
};
extern "C" __global__ void table_written_by_a_sampler(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int tab[17] = {17, 2, 33, 4, 75, 6, 7, 86, 3, 1, 14, 12, 19, 5, 44, 21, 13};
    Sampler sampler(1, tab);
    int sum = 0;
    for (int j = 0; j <= n; ++j) sum += sampler.next(order[t + j] & 15);
    out[t] = sum;
}
