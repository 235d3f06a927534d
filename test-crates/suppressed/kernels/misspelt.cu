// lmem: allow(dynamic_indx)
//~^ invalid_directive
extern "C" __global__ void scale(const float *in, float *out) { out[threadIdx.x] = 2.0f * in[threadIdx.x]; }
