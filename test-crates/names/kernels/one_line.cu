// A function that has its loop on one line: the debug information has no column there, and the loop around the call is another.

struct Sorted { int used; float *key; };
__device__ void put(Sorted &all, float value) { int at = all.used; while (at > 0 && all.key[at - 1] > value) { all.key[at] = all.key[at - 1]; --at; } all.key[at] = value; if (all.used < 11) ++all.used; }

extern "C" __global__ void sorted(const float *in, float *out, int n) {
    float key[12]; //~ rolled_loop
    Sorted all = {0, key};
    for (int i = 0; i < n; ++i) put(all, in[i * 64 + threadIdx.x]);
    for (int i = 0; i < all.used; ++i) out[i * 64 + threadIdx.x] = key[i];
}
