// Classes with constructors, whose objects lie in shared memory.

template <int K>
struct Ring {
    float data[K];
    int head = 0;
    __device__ Ring(float first) {
        for (int k = 0; k < K; ++k) data[k] = first;
    }
    __device__ void push(float x, int skip) {
        data[head] = x;
        head = (head + skip) % K;
    }
};

extern "C" __global__ void __launch_bounds__(128) delayed(const float *in, const int *skip, float *out, int n) {
    Ring<17> ring(0.5f); //~ dynamic_index
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        ring.push(in[k * 128 + threadIdx.x], skip[k * 128 + threadIdx.x]);
        sum = 0.5f * sum + ring.data[skip[k] % 17];
    }
    out[threadIdx.x] = sum;
}

struct Counted {
    float data[16];
    float *result;
    __device__ Counted(float *result) : result(result) {
        for (int k = 0; k < 16; ++k) data[k] = 0.0f;
    }
    __device__ ~Counted() {
        for (int k = 0; k < 16; ++k) result[k * 128] = data[k];
    }
};

// What the destructor writes is not to be lost.
extern "C" __global__ void __launch_bounds__(128) counted(const float *in, const int *bin, float *out, int n) {
    Counted bins(out + threadIdx.x); //~ dynamic_index
    for (int k = 0; k < n; ++k) bins.data[bin[k * 128 + threadIdx.x] & 15] += in[k * 128 + threadIdx.x];
}
