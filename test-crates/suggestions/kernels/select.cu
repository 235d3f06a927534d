// Indices from data: the element is selected, where that costs less.
struct Totals {
    float weight[10];
    int seen;
};

extern "C" __global__ void classes(const unsigned char *label, const float *score, float *out, int n) {
    float sum[8] = {}; //~ dynamic_index sm_120
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum[label[i] & 7] += score[i];
#pragma unroll
    for (int c = 0; c < 8; ++c) out[c * blockDim.x + threadIdx.x] = sum[c];
}

extern "C" __global__ void longest_runs(const unsigned char *group, const int *length, int *out, int n) {
    int longest[6] = {}; //~ dynamic_index sm_120
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int g = group[i] % 6;
        if (length[i] > longest[g]) longest[g] = length[i];
    }
#pragma unroll
    for (int g = 0; g < 6; ++g) out[g * blockDim.x + threadIdx.x] = longest[g];
}

extern "C" __global__ void weigh(const unsigned char *kind, const float *weight, float *out, int n) {
    Totals totals; //~ dynamic_index sm_80 sm_90
    totals.seen = 0;
#pragma unroll
    for (int k = 0; k < 10; ++k) totals.weight[k] = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int k = kind[i] % 10;
        totals.weight[k] = fmaxf(totals.weight[k], weight[i]);
        ++totals.seen;
    }
#pragma unroll
    for (int k = 0; k < 10; ++k) out[k * blockDim.x + threadIdx.x] = totals.weight[k] / totals.seen;
}

// Pairs of neighbours, in two dimensions.
extern "C" __global__ void transitions(const unsigned char *base, unsigned *out, int n) {
    unsigned pair[3][4]; //~ dynamic_index
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 4; ++b) pair[a][b] = 0;
    int last = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int next = base[i] & 3;
        if (last < 3) ++pair[last][next];
        last = next;
    }
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 4; ++b) out[(a * 4 + b) * blockDim.x + threadIdx.x] = pair[a][b];
}

// The loops over it have a length that is known at run time only.
extern "C" __global__ void shares(const float *in, const unsigned char *at, float *out, int parts, int n) {
    float part[12]; //~ dynamic_index
    for (int k = 0; k < parts; ++k) part[k] = in[k];
    for (int i = threadIdx.x; i < n; i += blockDim.x) part[at[i] % 12] += in[i];
    float sum = 0.0f;
    for (int k = 0; k < parts; ++k) sum += part[k];
    out[threadIdx.x] = sum;
}

// Only read: it stays in the cache, and selects of 16 elements take longer.
extern "C" __global__ void lookup(const float *in, const unsigned char *at, float *out, int n) {
    float value[16]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < 16; ++k) value[k] = in[k * blockDim.x + threadIdx.x];
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum = sum * 1.1f + value[at[i * blockDim.x + threadIdx.x] & 15];
    out[threadIdx.x] = sum;
}

// Too many elements for selects.
extern "C" __global__ void bytes(const unsigned char *in, unsigned short *out, int n) {
    unsigned short count[64]; //~ dynamic_index
#pragma unroll
    for (int b = 0; b < 64; ++b) count[b] = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) count[in[i] >> 2]++;
#pragma unroll
    for (int b = 0; b < 64; ++b) out[b * blockDim.x + threadIdx.x] = count[b];
}

__device__ void exchange(float &a, float &b) {
    const float held = a;
    a = b;
    b = held;
}

// The elements are written through references.
extern "C" __global__ void shuffle(const unsigned char *order, float *values, int n) {
    float value[8]; //~ dynamic_index
    for (int k = 0; k < 8; ++k) value[k] = values[k * blockDim.x + threadIdx.x];
    for (int i = threadIdx.x; i < n; i += blockDim.x) exchange(value[order[i] & 7], value[order[i] >> 5]);
    for (int k = 0; k < 8; ++k) values[k * blockDim.x + threadIdx.x] = value[k];
}

// The index changes as it is used.
extern "C" __global__ void take(const int *in, int *out, int n) {
    int kept[12]; //~ dynamic_index
    int count = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (in[i] > 0) kept[count++] = in[i];
        if (in[i] < 0 && count > 0) out[i] = kept[--count];
    }
}
