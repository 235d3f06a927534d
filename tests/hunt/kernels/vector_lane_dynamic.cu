// launch: n = 0, 1, 5; m = 0, 3
// lane chosen at run time through a cast of the address, read and written, as float and as int
struct Quad { float4 lo, hi; };
extern "C" __global__ void vector_lane_dynamic(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Quad q;
    q.lo = make_float4(in[t], in[t + 1], in[t + 2], in[t + 3]);
    q.hi = make_float4(in[t + 4], in[t + 5], in[t + 6], in[t + 7]);
    float* lane = (float*)&q;
    for (int i = 0; i < n; ++i) {
        lane[order[t * 5 + i] & 7] += 1.0f;
        q.lo.z = -q.hi.x;
        ((unsigned*)&q)[order[t * 5 + i + 1] & 7] ^= 0x80000000u;
    }
    out[t] = q.lo.x + 2 * q.lo.y + 4 * q.lo.z + 8 * q.lo.w - q.hi.x + 3 * q.hi.y + 5 * q.hi.z + 7 * q.hi.w;
}
