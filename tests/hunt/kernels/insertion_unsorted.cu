// launch: n = 0, 1, 5, 20; m = 0, 3
// elements move while their own bits say so: nothing here is sorted
extern "C" __global__ void insertion_unsorted(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < n; ++i) {
        const int x = order[t * 20 + i] >> 3;
        int at = (x >> 4) & 7;
        while (at > 0 && (a[at - 1] ^ x) & 3) {
            a[at] = a[at - 1] + 1;
            --at;
        }
        a[at] = x;
    }
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.75f + (a[i] & 255);
    out[t] = s;
}
