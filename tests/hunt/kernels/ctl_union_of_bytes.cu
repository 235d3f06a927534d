// launch: n = 1, 33, 64; m = 0, 1, 3, 15, 16
// All of a union is an array, whose loop has its extent.
union Vec { uint4 words; unsigned char bytes[16]; };
extern "C" __global__ void ctl_union_of_bytes(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Vec v;
    v.words = make_uint4(i * 2654435761u, order[0], order[1], i + m);
    unsigned count = 0;
    for (unsigned k = 0; k < m; ++k) count += (v.bytes[k] & 0xC0) != 0x80;
    out[i] = count;
}
