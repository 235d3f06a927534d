// launch: n = 0, 1, 5, 20; m = 0, 3
// the value that is inserted is a reference to an element that moves
extern "C" __global__ void insertion_reads_the_moved(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8];
    for (int i = 0; i < 8; ++i) a[i] = in[t * 8 + i];
    for (int i = 0; i < n; ++i) {
        const int from = order[t * 20 + i] & 7;
        const float& x = a[from];
        int j = from - 1;
        while (j >= 0 && a[j] > x) {
            a[j + 1] = a[j];
            --j;
        }
        a[j + 1] = x + 0.5f;
    }
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.75f + a[i];
    out[t] = s;
}
