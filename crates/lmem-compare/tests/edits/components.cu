// Parts of a vector by a computed index.
// right: 1 2 3
// wrong: 51 52 53
extern "C" __global__ void components(const float4 *in, float *out, int axis) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 p = in[i];
    const int a = (axis + i) & 3;
#if V == 0
    const float *parts = (const float *)&p;
    out[i] = parts[a];
#elif V == 1
    out[i] = a == 0 ? p.x : a == 1 ? p.y : a == 2 ? p.z : p.w;
#elif V == 2
    switch (a) { case 0: out[i] = p.x; break; case 1: out[i] = p.y; break; case 2: out[i] = p.z; break; default: out[i] = p.w; }
#elif V == 3
    out[i] = ((const float *)in)[i * 4 + a];
#elif V == 51
    out[i] = a == 0 ? p.x : a == 1 ? p.y : a == 3 ? p.z : p.w;
#elif V == 52
    out[i] = a == 0 ? p.x : a == 1 ? p.y : p.z;
#elif V == 53
    out[i] = ((const float *)in)[i * 3 + a];
#endif
}
