// launch: n = 1, 33, 64; m = 0, 1, 3, 7
// What a copy is of changes by another pointer while the copy is read.
struct Entry { float scale[8]; };
extern "C" __global__ void copy_written_meanwhile(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Entry own[2];
    for (int k = 0; k < 8; ++k) { own[0].scale[k] = in[k] + i; own[1].scale[k] = in[k] * i; }
    float* p = own[order[0] & 1].scale;
    Entry entry = own[order[0] & 1];
    float sum = 0;
    for (unsigned k = 0; k < m; ++k) { p[order[k] & 7] = 3; sum += entry.scale[order[k] & 7]; }
    out[i] = sum;
}
