// launch: n = 1, 64; m = 0, 3, 7
// A copy of constant memory that is written in a round that m chooses.
struct Lens { float bend[8]; int used; };
__constant__ Lens lenses[2] = {{{1, 0.5f, 0.25f, 0.125f, 1, 1, 1, 1}, 8}, {{2, 1, 0.5f, 0.25f, 0.125f, 1, 1, 1}, 8}};
__device__ void bend(Lens& lens, int at, unsigned m) { if (at == (int)m) lens.bend[at] = 4; }
extern "C" __global__ void constant_memory_copied_and_changed(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Lens lens = lenses[i & 1];
    float sum = 0;
    for (int b = 0; b < lens.used; ++b) {
        bend(lens, b, m);
        sum += lens.bend[b] * in[i];
    }
    out[i] = sum;
}
