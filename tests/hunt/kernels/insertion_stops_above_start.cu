// launch: n = 0, 1, 5, 20; m = 0, 3
// the two lowest elements never move, but one of them may be where an insertion begins
extern "C" __global__ void insertion_stops_above_start(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < 8; ++i) a[i] = i * 0.125f;
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 20 + i];
        int at = order[t * 20 + i] & 7;
        while (at > 2 && a[at - 1] > x) {
            a[at] = a[at - 1];
            --at;
        }
        a[at] = x;
    }
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.75f + a[i];
    out[t] = s;
}
