// Functions that stay functions.

struct Sample {
    float value[4];
};

// A step of a generator that nobody wants inlined forty times.
__device__ __noinline__ unsigned advance_generator(unsigned state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state * 0x9E3779B9u;
}

// Values in, a value out: no frame.
__global__ void fill_uniform(float *out, unsigned seed, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned state = seed + i;
    for (int k = 0; k < 8; ++k) {
        state = advance_generator(state);
        out[k * n + i] = state * 2.3283064e-10f;
    }
}

__device__ __noinline__ float blend(float a, float b, float c, float d, const float *extra, int n)
{
    float sum = a * b + c * d;
    for (int k = 0; k < n; ++k) sum = fmaf(sum, extra[k], a - sum);
    return sum;
}

// The function is called with much alive around it.
__global__ void blend_many(const float *in, const float *extra, float *out, int n, int terms) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[24];
#pragma unroll
    for (int k = 0; k < 24; ++k) v[k] = in[k * n + i];
#pragma unroll
    for (int k = 0; k < 24; ++k) v[k] = blend(v[k], v[(k + 1) % 24], v[(k + 5) % 24], v[(k + 7) % 24], extra, terms);
#pragma unroll
    for (int k = 0; k < 24; ++k) out[k * n + i] = v[k];
}

// A structure by value, in and out of a function that is not inlined.
__device__ __noinline__ Sample normalise(Sample sample)
{
    float sum = 0.0f;
    for (float v : sample.value) sum += v * v;
    const float scale = rsqrtf(sum);
    for (float &v : sample.value) v *= scale;
    return sample;
}

__global__ void normalise_samples(const Sample *in, Sample *out, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = normalise(in[i]);
}

// The frame is the callee's: its own ranking of what it was given.
__device__ __noinline__ int rank_of(const float *values, int n, int which)
{
    int order[16]; //@ object order: dynamic_index | rolled_loop in rank_values
    for (int k = 0; k < n; ++k) {
        const float v = values[k];
        int at = k;
        while (at > 0 && values[order[at - 1]] > v) { //@ access order in rank_values
            order[at] = order[at - 1]; //@ access order in rank_values
            --at;
        }
        order[at] = k; //@ access order in rank_values
    }
    return order[which]; //@ access order in rank_values
}

__global__ void rank_values(const float *values, int *rank, int n, int groups)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups) return;
    rank[2 * g] = rank_of(values + g * n, n, n / 2);
    rank[2 * g + 1] = rank_of(values + g * n, n, n - 1);
}

typedef float (*Activation)(float);
__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(0.70710678f * x)); } //@ object -: call_frame in gelu|activate sm_80 sm_90 sm_120
__device__ float swish(float x) { return x / (1.0f + __expf(-x)); } //@ object -: call_frame in swish|activate sm_80 sm_90 sm_120
__device__ float softplus(float x) { return log1pf(__expf(x)); } //@ object -: call_frame in softplus|activate sm_80 sm_90 sm_120
__device__ Activation activations[3] = {gelu, swish, softplus};

// A call through a pointer in a loop: what is alive must survive it.
__global__ void activate(float *x, const int *which, int n, int layers)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i], total = 0.0f;
    for (int layer = 0; layer < layers; ++layer) {
        value = activations[which[layer]](value);
        total += value;
    }
    x[i] = total;
}

// The compiler is made to show the variable to assembly.
__global__ void stamp_blocks(unsigned long long *stamps, int n)
{
    unsigned long long record[2]; //@ object record: address_escape
    record[0] = blockIdx.x;
    record[1] = threadIdx.x;
    const void *address = record; //@ access record
    asm volatile("prefetch.L1 [%0];" ::"l"(address) : "memory"); //@ access record
    stamps[2 * (blockIdx.x * blockDim.x + threadIdx.x)] = record[0] + record[1];
}

struct Request {
    const int *keys;
    int count;
    int first;
};

// The address is stored where others could find it.
__global__ void publish_requests(Request **mailbox, const int *keys, volatile int *done, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Request request; //@ object request: address_escape
    request.keys = keys + i;
    request.count = n - i;
    request.first = keys[i];
    mailbox[i] = &request; //@ access request
    __threadfence();
    while (!done[i]) {}
    done[i] = request.count;
}
