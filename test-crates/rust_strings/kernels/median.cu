// The index of the median comes from what is read.
extern "C" __global__ void vote(const int *label, int *out, int n) {
    int votes[24]; //~ dynamic_index
#pragma unroll
    for (int c = 0; c < 24; ++c) votes[c] = 0;
    for (int k = 0; k < n; ++k) votes[label[k * 32 + threadIdx.x] % 24]++;
#pragma unroll
    for (int c = 0; c < 24; ++c) out[c * 32 + threadIdx.x] = votes[c];
}
