// launch: n = 0, 1, 5, 20; m = 0, 3
// the second array is shorter: its elements beyond are not stored
extern "C" __global__ void insertion_two_lengths(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float key[9];
    int id[7];
    for (int i = 0; i < 9; ++i) key[i] = i * 0.125f;
    for (int i = 0; i < 7; ++i) id[i] = -i;
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 20 + i];
        int at = order[t * 20 + i] % 6 + 1;
        while (at > 0 && key[at] > x) {
            key[at + 1] = key[at];
            id[at] = id[at - 1] + 1;
            --at;
        }
        key[at + 1] = x;
        id[at] = i;
    }
    float s = 0.0f;
    for (int i = 0; i < 9; ++i) s = s * 0.75f + key[i];
    for (int i = 0; i < 7; ++i) s = s * 0.75f + id[i];
    out[t] = s;
}
