// launch: n = 1, 33, 64; m = 0, 1, 5, 40
// The place of an insertion is used behind it.
extern "C" __global__ void ctl_insertion_place_used(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float key[8];
    int val[8], count = 0, places = 0;
    for (int k = 0; k < (int)m; ++k) {
        float v = in[(k * 3 + i) % 33] * (order[k & 15] & 3);
        int j = count < 8 ? count : 7;
        if (count == 8 && key[7] >= v) continue;
        while (j > 0 && v >= key[j - 1]) { key[j] = key[j - 1]; val[j] = val[j - 1]; --j; }
        key[j] = v;
        val[j] = k;
        places += j * (k + 1);
        if (count < 8) ++count;
    }
    float sum = places;
    for (int k = 0; k < count; ++k) sum += key[k] + val[k] * k;
    out[i] = sum;
}
