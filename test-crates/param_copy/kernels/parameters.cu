// Parameters that are passed by value, and what makes a copy of them.

struct Config {
    int n;
    float scale;
    float weight[16];
    int key[14];
};

struct Generator {
    unsigned state[8];
    int at;
};

struct Tables {
    const float *column[12];
    int count;
};

// A state that each thread moves on.
__global__ void random(Generator generator, float *out, int n) { //~ param_copy
    for (int k = 0; k < n; ++k) {
        unsigned value = generator.state[generator.at & 7];
        generator.state[generator.at & 7] = value * 1664525u + 1013904223u;
        generator.at = (generator.at + 1) & 7;
        out[k] = value;
    }
}

// Read at a run-time index, which constant memory allows.
__global__ void weigh(Config config, const int *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = config.weight[in[i] & 15] * config.scale;
}

__device__ __noinline__ float weight_of(const Config *config, int k) { return config->weight[k & 15] * config->scale; }

// The address leaves.
__global__ void weigh_by_pointer(Config config, const int *in, float *out) { //~ param_copy
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = weight_of(&config, in[i]);
}

// The address leaves, and the parameter stays where it is.
__global__ void weigh_in_place(const __grid_constant__ Config config, const int *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = weight_of(&config, in[i]);
}

// A table of pointers, which are read at a run-time index.
__global__ void sum_columns(Tables tables, float *out) { //~ param_copy
    float sum = 0.0f;
    for (int k = 0; k < tables.count; ++k) sum += tables.column[k][threadIdx.x];
    out[threadIdx.x] = sum;
}

__global__ void sum_columns_in_place(const __grid_constant__ Tables tables, float *out) {
    float sum = 0.0f;
    for (int k = 0; k < tables.count; ++k) sum += tables.column[k][threadIdx.x];
    out[threadIdx.x] = sum;
}

// A copy by hand.
__global__ void adjust(Config config, const int *in, float *out) {
    Config mine = config; //~ param_copy
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    mine.weight[in[i] & 15] += 1.0f;
    out[i] = mine.weight[in[i + 1] & 15] + mine.n;
}

// A copy that nobody writes to is none.
__global__ void copied(Config config, const int *in, float *out) {
    Config mine = config;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mine.weight[in[i] & 15] + mine.n;
}

__device__ float shifted(Config config, int k) { //~ param_copy
    config.weight[k & 15] = 3.0f;
    return config.weight[(k + 5) & 15] + config.weight[(k * 3) & 15];
}

// By value to an inlined function, which writes to it.
__global__ void shift(Config config, const int *in, float *out) { out[threadIdx.x] = shifted(config, in[threadIdx.x]); }

struct Large {
    int value[900];
    int count;
};

// So large that a loop copies it.
template <typename T> __global__ void replace(T block, const int *in, int *out) { //~ param_copy
    block.value[in[0] % 900] = 3;
    out[threadIdx.x] = block.value[in[threadIdx.x] % 900];
}
template __global__ void replace<Large>(Large, const int *, int *);

// A parameter is where it starts; what the array holds is computed.
__global__ void accumulate(Config config, const int *in, float *out) {
    float sum[16]; //~ dynamic_index
    for (int k = 0; k < 16; ++k) sum[k] = config.weight[k];
    for (int k = 0; k < config.n; ++k) sum[in[k] & 15] += config.scale;
    for (int k = 0; k < 16; ++k) out[k] = sum[k];
}

// Half of the array is the parameter's.
__global__ void extend(Config config, const float *in, const int *at, float *out) {
    float value[32]; //~ dynamic_index
    for (int k = 0; k < 16; ++k) value[k] = config.weight[k];
    for (int k = 0; k < 16; ++k) value[16 + k] = in[k];
    float sum = 0.0f;
    for (int k = 0; k < config.n; ++k) sum += value[at[k] & 31];
    out[threadIdx.x] = sum;
}

// Numbers that are written have registers.
__global__ void advance(float *data, int n, float step) {
    data += blockIdx.x * n;
    n -= threadIdx.x;
    while (n > 0) {
        data[n] += step;
        step *= 0.5f;
        n -= blockDim.x;
    }
}
