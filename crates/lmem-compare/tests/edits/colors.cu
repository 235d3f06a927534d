// A first free number per vertex, in the array whose other elements neighbours read.
// right: 1 2
// wrong: 50 51 52
extern "C" __global__ void colors(const int *first, const int *next, int *color, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
#if V == 1 || V == 50 || V == 51
    unsigned long long taken = 0;
#elif V == 2
    __shared__ bool all[32][256];
#elif V == 52
    __shared__ bool all[32][256];
#else
    bool taken[32] = {};
#endif
#if V == 2
    for (int i = 0; i < 32; i++) all[i][threadIdx.x] = false;
#elif V == 52
    for (int i = 0; i < 32; i++) all[i][threadIdx.x / 2] = false;
#endif
    for (int e = first[v]; e < first[v + 1]; e++) {
        int c = color[next[e]];
        if (c >= 0 && c < 32) {
#if V == 1
            taken |= 1ull << c;
#elif V == 50
            taken |= 1ull << (c & 3);
#elif V == 51
            taken = 1ull << c;
#elif V == 2
            all[c][threadIdx.x] = true;
#elif V == 52
            all[c][threadIdx.x / 2] = true;
#else
            taken[c] = true;
#endif
        }
    }
    int c = 0;
#if V == 1 || V == 50 || V == 51
    while (c < 31 && (taken >> c & 1)) c++;
#elif V == 2
    while (c < 31 && all[c][threadIdx.x]) c++;
#elif V == 52
    while (c < 31 && all[c][threadIdx.x / 2]) c++;
#else
    while (c < 31 && taken[c]) c++;
#endif
    color[v] = c;
}
