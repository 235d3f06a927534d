// Flags become the bits of an integer, where each use is an element that is read or assigned.

extern "C" __global__ void cycles(const unsigned char* __restrict__ next, int* __restrict__ out) {
    bool seen[64] = {false}; //~ dynamic_index
    int found = 0;
    for (int start = 0; start < 64; ++start) {
        int at = start;
        if (seen[at]) continue;
        ++found;
        while (!seen[at]) {
            seen[at] = true;
            at = next[threadIdx.x * 64 + at] & 63;
        }
    }
    out[threadIdx.x] = found;
}

// The value of an element is another one, and counts as a number.
extern "C" __global__ void toggled(const unsigned char* __restrict__ which, int* __restrict__ out, int n) {
    bool lit[24]; //~ dynamic_index
    for (int i = 0; i < 24; ++i) lit[i] = i % 3 == 0;
    int most = -1;
    for (int i = 0; i < n; ++i) {
        const int k = which[i * blockDim.x + threadIdx.x] % 24;
        lit[k] = lit[(k + 5) % 24] != (k > 7);
        most = max(most, lit[k] - 1 + k * lit[(k + 1) % 24]);
    }
    out[threadIdx.x] = most;
}

// A reference sees what is written later: the array stays.
extern "C" __global__ void watched(const unsigned char* __restrict__ which, int* __restrict__ out, int n) {
    bool done[48] = {}; //~ dynamic_index
    const bool& first = done[which[threadIdx.x] % 48];
    int rounds = 0;
    for (int i = 0; i < n && !first; ++i, ++rounds) done[which[i * blockDim.x + threadIdx.x] % 48] = true;
    out[threadIdx.x] = rounds;
}

// One thread of the block needs one array.
extern "C" __global__ void __launch_bounds__(128) leader(const int* __restrict__ order, float* __restrict__ out, int n) {
    __shared__ float total;
    if (threadIdx.x == 0) {
        float bins[32] = {0}; //~ dynamic_index
        for (int i = 0; i < n; ++i) bins[order[i] & 31] += out[i];
        float most = 0;
        for (int i = 0; i < n; ++i) most = fmaxf(most, bins[order[i + n] & 31]);
        total = most;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

// A block-stride condition rises with the counter, and a counter may be declared before its loop.
extern "C" __global__ void __launch_bounds__(256) striped(const float* __restrict__ in, float* __restrict__ out, int n) {
    float own[8]; //~ rolled_loop
    const int tid = threadIdx.x;
    float most = 0;
    for (int i = 0; tid + i * 256 < n; ++i) {
        own[i] = in[tid + i * 256];
        most = fmaxf(most, own[i]);
    }
    int k = 0;
    for (; tid + k * 256 < n; k++) out[tid + k * 256] = own[k] - most;
}
