// launch: n = 0, 1, 5, 20; m = 0, 3
// the largest eight of n, with their numbers: equal ones stay in the order in which they came
extern "C" __global__ void ctl_insertion_top_eight(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float key[8];
    int id[8], size = 0;
    for (int i = 0; i < n; ++i) {
        const float x = (order[t * 20 + i] & 7) * 0.5f + (m ? 0.0f : in[t * 20 + i]);
        if (size == 8 && x <= key[7]) continue;
        int at = size < 8 ? size++ : 7;
        while (at > 0 && key[at - 1] < x) {
            key[at] = key[at - 1];
            id[at] = id[at - 1];
            --at;
        }
        key[at] = x;
        id[at] = i;
    }
    float s = size;
    for (int i = 0; i < size; ++i) s = s * 0.75f + key[i] * (id[i] + 1);
    out[t] = s;
}
