// The shared array is of the size of the launched block, which nothing in the PTX says: smaller blocks read what nothing
// wrote.
// right: 1 2
// wrong: 51 52
// 51 is wrong from `n` of 769 on, which only a whole block makes cheap enough to be tried.

extern "C" __global__ void shared_sized(const float *in, float *out, int n) {
    __shared__ float sums[256];
    float part[4] = {0.f, 0.f, 0.f, 0.f};
    for (int i = threadIdx.x; i < n; i += 256) {
#if V == 1
#pragma unroll
        for (int k = 0; k < 4; ++k) part[k] += k == (i / 256 & 3) ? in[i] : 0.f;
#elif V == 2
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (k == (i / 256 & 3)) part[k] += in[i];
#elif V == 51
#pragma unroll
        for (int k = 0; k < 3; ++k)
            if (k == (i / 256 & 3)) part[k] += in[i];
#else
        part[i / 256 & 3] += in[i];
#endif
    }
#if V == 52
    part[threadIdx.x >= 200 ? 1 : 0] += 0.5f;
#endif
    sums[threadIdx.x] = part[0] + 2.f * part[1] + 3.f * part[2] + 5.f * part[3];
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
