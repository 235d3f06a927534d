// `volatile` on variables of a thread, and where it costs nothing.

// Compensated summation that fears the compiler.
__global__ void kahan(const float *in, float *out, int n) {
    volatile float correction = 0.0f; //~ volatile_local
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        float y = in[i] - correction;
        float t = sum + y;
        correction = (t - sum) - y;
        sum = t;
    }
    out[threadIdx.x] = sum;
}

// The same with intrinsics, which are never merged.
__global__ void kahan_intrinsics(const float *in, float *out, int n) {
    float correction = 0.0f;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        float y = __fsub_rn(in[i], correction);
        float t = __fadd_rn(sum, y);
        correction = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
    }
    out[threadIdx.x] = sum;
}

__device__ __forceinline__ double two_sum(double a, double b, double &error) {
    volatile double sum = a + b; //~ volatile_local
    double part = sum - a;
    error = (a - (sum - part)) + (b - part);
    return sum;
}

// In an inlined function.
__global__ void exact_sum(const double *in, double *out, int n) {
    double sum = 0.0, rest = 0.0;
    for (int i = 0; i < n; ++i) {
        double error;
        sum = two_sum(sum, in[i], error);
        rest += error;
    }
    out[threadIdx.x] = sum + rest;
}

// The pointer is volatile, not what it points to.
__global__ void wait_for(int *flag, int *out) {
    int *volatile state = flag + blockIdx.x; //~ volatile_local
    while (*state == 0) {
    }
    out[threadIdx.x] = state[1];
}

// What was meant.
__global__ void wait_for_data(int *flag, int *out) {
    volatile int *state = flag + blockIdx.x;
    while (*state == 0) {
    }
    out[threadIdx.x] = state[1];
}

// A parameter.
__global__ void fill(float *volatile out, float value, int n) { //~ volatile_local
    for (int i = 0; i < n; ++i) out[i * 256 + threadIdx.x] = value;
}

struct Progress {
    volatile int done;
    int step;
};

// A member.
__global__ void countdown(const int *in, int *out, int n) {
    Progress progress; //~ volatile_local
    progress.done = in[0];
    progress.step = in[1];
    while (progress.done < n) progress.done = progress.done + progress.step;
    out[threadIdx.x] = progress.done;
}

// An array that is indexed at run time as well.
__global__ void scratch(const int *in, int *out, int n) {
    volatile int slot[8]; //~ volatile_local
    for (int k = 0; k < 8; ++k) slot[k] = in[k];
    for (int k = 0; k < n; ++k) slot[in[k] & 7] = k;
    out[threadIdx.x] = slot[in[threadIdx.x] & 7];
}

// A cast makes the access volatile; the variable is an ordinary one.
__global__ void keep(const float *in, float *out, int n) {
    float value = in[0]; //~ volatile_local
    for (int i = 0; i < n; ++i) *(volatile float *)&value = value * in[i];
    out[threadIdx.x] = value;
}

// Shared memory may be volatile at no cost in local memory, and so may data behind pointers.
__global__ void reduce(const float *in, volatile float *out) {
    __shared__ volatile float part[64];
    part[threadIdx.x] = in[threadIdx.x];
    volatile float *mine = part + threadIdx.x;
    if (threadIdx.x < 32) mine[0] = mine[0] + mine[32];
    out[threadIdx.x] = mine[0];
}
