// launch: n = 0, 7; m = 0
// a function gets the table from its eleventh element on
__device__ int find(const float* m, int n, float x) {
    int b = 0, e = n;
    while (e - b > 1) {
        int mid = (b + e) >> 1;
        if (m[mid] > x) b = mid; else e = mid;
    }
    return b;
}
extern "C" __global__ void table_from_the_middle(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float mass[17] = {1.5f, 1.4f, 1.38f, 1.2f, 1.1f, 1.05f, 1.0f, 0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f, 0.3f, 0.2f, 0.1f, 0.05f};
    out[t] = find(mass + 10, 7, in[t]) + find(mass, 15, in[t + n]);
}
