// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_insertion_sort_int(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[12];
    for (int i = 0; i < n; ++i) a[i] = order[t * 12 + i] & 0xffff;
    for (int i = 1; i < n; ++i) {
        const int x = a[i];
        int j = i - 1;
        while (j >= 0 && a[j] > x) { a[j + 1] = a[j]; --j; }
        a[j + 1] = x;
    }
    for (int i = 0; i < n; ++i) out[t * 12 + i] = (float)a[i];
}
