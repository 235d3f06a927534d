// No kernel of this file has local memory, so that nothing but its text says where they are.

// lmem: budget(registers <= 4)
extern "C" __global__ void narrow(const float *in, float *out) { //~ budget_exceeded
    out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x + 32];
}

__global__ void other(float *out) { out[threadIdx.x] = 1.0f; }
