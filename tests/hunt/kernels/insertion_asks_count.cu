// launch: n = 0, 1, 5, 20; m = 0, 3
// each comparison is counted, and changes the next one
struct Judge {
    int asked;
    __device__ bool is_more(float a, float b) { return (++asked & 7) != 7 && a > b; }
};

extern "C" __global__ void insertion_asks_count(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {};
    Judge judge = {static_cast<int>(m)};
    for (int i = 0; i < n; ++i) {
        const float x = in[t * 20 + i];
        int at = i < 8 ? i : 7;
        while (at > 0 && judge.is_more(a[at - 1], x)) {
            a[at] = a[at - 1];
            --at;
        }
        a[at] = x;
    }
    float s = judge.asked;
    for (int i = 0; i < 8; ++i) s = s * 0.75f + a[i];
    out[t] = s;
}
