// Compiled with `-maxrregcount=32` (see `Cargo.toml`): nothing here says why it spills.

// Mixed radix butterflies, all in flight.
__global__ void butterflies(const float2 *__restrict__ in, float2 *__restrict__ out, int n) //@ spills
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 v[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = in[k * n + i];
#pragma unroll
    for (int half = 8; half > 0; half >>= 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            if (k & half) continue;
            const float2 a = v[k], b = v[k + half];
            v[k] = make_float2(a.x + b.x, a.y + b.y);
            const float dx = a.x - b.x, dy = a.y - b.y;
            v[k + half] = make_float2(0.7f * dx - 0.3f * dy, 0.3f * dx + 0.7f * dy);
        }
    }
#pragma unroll
    for (int k = 0; k < 16; ++k) out[k * n + i] = v[k];
}

// Fits.
__global__ void scale_and_shift(const float2 *__restrict__ in, float2 *__restrict__ out, float2 shift, float scale, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = make_float2(in[i].x * scale + shift.x, in[i].y * scale + shift.y);
}
