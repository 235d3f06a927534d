// launch: n = 1, 4; m = 0, 3
// threads of the case before go on into the case of one thread
extern "C" __global__ void leader_case_goes_on(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    switch (threadIdx.x) {
    case 1: s = n;
    case 0: {
        int seen[16] = {};
        for (int i = 0; i < 64; ++i) seen[order[(t * 64 + i) & 0x3fffff] & 15] += i + n;
        for (int i = 0; i < 16; ++i) s = s * 0.5f + seen[i];
        break;
    }
    default: s = m;
    }
    out[t] = s;
}
