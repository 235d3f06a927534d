// launch: n = 0, 5, 12; m = 0, 3
// decltype(tab[0]) is int&: with a const table `lowest` could not be assigned, with a pointer it is another type
extern "C" __global__ void decltype_from_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int tab[16] = {1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18};
    auto copy = tab;
    decltype(tab) other = {9, 9, 9};
    decltype(auto) first = (tab[0]);
    int s = 0;
    for (int i = 0; i < n; ++i) {
        s += copy[order[t * 12 + i] & 15] + other[order[t * 12 + i] & 15];
        if (i == 3) first = 77;
    }
    out[t] = (float)s + sizeof(other) + sizeof(copy);
}
