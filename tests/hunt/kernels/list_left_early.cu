// launch: n = 0, 1, 9; m = 0, 3
// the compiler unrolls the loop that finds the place, and keeps a pointer to it
extern "C" __global__ void list_left_early(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int kept = 8;
    float near[8];
    int from[8];
    for (int i = 0; i < 8; i++) { near[i] = 1e30f; from[i] = -1; }
    for (int i = 0; i < n; i++) {
        const float d = in[t * 9 + i] - in[t];
        if (d < near[kept - 1]) {
            int j = kept - 1;
            while (j > 0 && near[j - 1] > d) { near[j] = near[j - 1]; from[j] = from[j - 1]; j--; }
            near[j] = d; from[j] = order[t + i] & 255;
        }
    }
    float sum = m;
    for (int i = 0; i < 8; i++) sum = sum * 0.5f + (from[i] < 0 ? 0.0f : near[i]) + from[i];
    out[t] = sum;
}
