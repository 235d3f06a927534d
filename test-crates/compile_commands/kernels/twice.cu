// Compiled for two lengths, of which each gives a finding of its own size: one place, two ways to compile it.
extern "C" __global__ void twice(const int *index, const float *in, float *out, int n) {
    float bins[LENGTH] = {}; //~ dynamic_index
    for (int i = 0; i < n; ++i) {
        bins[index[i]] += in[i];
    }
    for (int i = 0; i < LENGTH; ++i) out[threadIdx.x * LENGTH + i] = bins[i];
}
