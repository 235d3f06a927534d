// launch: n = 5, 100, 1000; m = 0, 3
// n may be far above the extent: the sentinel ends the loop first
extern "C" __global__ void bound_above_extent_exit(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int key[9];
    for (int i = 0; i < 9; ++i) key[i] = order[t * 9 + i] & 15;
    for (int i = 0; i < (int)m + 5; ++i) key[order[t + i] % 8] += i;
    key[8] = 99;
    int steps = 0;
    float s = 0.0f;
    for (int i = 0; i < n; ++i) {
        if (key[i] == 99) { steps += 1000; break; }
        s += (float)(key[i] * (i + 1));
        ++steps;
    }
    out[t] = s;
    out[8192 + t] = (float)steps;
}
