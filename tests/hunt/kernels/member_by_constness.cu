// launch: n = 0, 5, 12; m = 0, 3
// operator[] const returns something else than operator[]
struct Table {
    int v[16];
    __device__ int operator[](int k) const { return -v[k & 15]; }
    __device__ int& operator[](int k) { return v[k & 15]; }
};
extern "C" __global__ void member_by_constness(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Table tab = {{1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18}};
    int s = 0;
    for (int i = 0; i < n; ++i) s += tab[order[t * 12 + i]] * (i + 1);
    out[t] = (float)s;
}
