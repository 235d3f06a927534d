// Variables whose declarations do not look like one: references to what a call returns, macros in declarators,
// arguments beside default ones.

struct Octet {
    double part[8];
    __device__ double at(int i) const { return part[i] * 5; }
};

__device__ Octet octet_of(const float *in, int i) {
    Octet made;
#pragma unroll
    for (int k = 0; k < 8; ++k) made.part[k] = in[i * 8 + k] + k;
    return made;
}

__global__ void kept(const float *in, const int *pick, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Octet &first = octet_of(in, i); //~ dynamic_index
        Octet &&second = octet_of(in, i + n); //~ dynamic_index
        float sum = second.at(pick[i + n] & 7);
        for (int k = pick[i]; k; k >>= 3) sum += first.at(k & 7);
        out[i] = sum;
    }
}

#define REF &
__global__ void named_by_macro(const float *in, const int *pick, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Octet REF kept = octet_of(in, i); //~ dynamic_index
        double sum = 0;
        for (int k = pick[i]; k; k >>= 3) sum += kept.at(k & 7);
        out[i] = sum;
    }
}

struct Walker {
    unsigned word[6];
    double more;
};

__device__ float drawn(Walker *walker) {
    unsigned t = walker->word[0] ^ (walker->word[0] >> 2);
#pragma unroll
    for (int i = 0; i < 4; ++i) walker->word[i] = walker->word[i + 1];
    walker->word[4] ^= t ^ (t << 1) ^ (walker->word[4] << 4);
    return (walker->word[4] + (walker->word[5] += 362437)) * 2.3e-10f;
}

// The call has one argument less than the function has parameters: it has no object for that.
__device__ void strayed(float amount, const float from[3], Walker *walker, float to[3], int again = 0) { //~ recursive_call
    float a = (drawn(walker) - .5f) * amount, b = (drawn(walker) - .5f) * amount;
    to[0] = from[0] + a, to[1] = from[1] + b, to[2] = from[2] - a * b;
    if (to[0] * to[1] >= to[2] && again < 3) {
        strayed(.5f * amount, from, walker, to, again + 1);
        to[2] *= 1.01f;
    }
}

__global__ void strolls(Walker *walkers, float *map, int rounds, float amount) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    Walker walker = walkers[id]; //~ address_escape
    float here[3]; //~ address_escape
    float next[3]; //~ address_escape
    for (int r = 0; r < rounds; ++r) {
        for (int i = 0; i < 3; ++i) here[i] = map[(r * 3 + i) * 64 + id];
        strayed(amount, here, &walker, next);
        for (int i = 0; i < 3; ++i) map[(r * 3 + i) * 64 + id] = next[i];
    }
    walkers[id] = walker;
}

// All three are filled in one line, so that only the second loop tells which is which.
__global__ void advanced(const float *push, const float *step, float *place, int n) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    float pace[100]; //~ rolled_loop
    float force[100]; //~ rolled_loop
    float width[100]; //~ rolled_loop
    for (int i = 0; i < n; ++i) { force[i] = push[id * n + i]; width[i] = step[i]; pace[i] = 0; }
    for (int i = 1; i < n; ++i) pace[i] = pace[i - 1] + force[i - 1] * width[i];
    for (int i = 0; i < n; ++i) place[id * n + i] = pace[i];
}
