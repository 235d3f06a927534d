// Compiled with `-rdc=true`: every function follows the calling convention.

struct Frame {
    float axis[3][4];
    float origin[4];
    float scale[4];
};

extern __device__ float scattering(const float *wavelengths, int count);

__device__ __noinline__ float project(Frame frame, float x, float y) { //~ call_frame
    return frame.axis[0][0] * x + frame.axis[1][1] * y + frame.origin[3] * frame.scale[0];
}

// The structure is in memory at each call, and the result is not.
__global__ void project_all(const Frame *frames, const float2 *in, float *out, int n) {
    Frame frame = frames[0];
    for (int k = 0; k < n; ++k) out[k] = project(frame, in[k].x, in[k].y) * 0.5f;
}

// The array is given to a function of another file.
__global__ void spectrum(const float *in, float *out) {
    float wavelengths[6]; //~ address_escape
    for (int k = 0; k < 6; ++k) wavelengths[k] = in[k * 32 + threadIdx.x];
    out[threadIdx.x] = scattering(wavelengths, 6);
}

__device__ __noinline__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// Few values, and nothing that is needed after the call: no frame at all.
__global__ void dots(const float3 *in, float *out) { out[threadIdx.x] = dot(in[threadIdx.x], in[threadIdx.x + 1]); }
