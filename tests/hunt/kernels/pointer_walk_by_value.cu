// launch: n = 0, 1, 5, 12; m = 0, 3
// a pointer walks through the members of the parameter
struct Setup { const float* in; const int* order; float* out; int n; unsigned m; float gain[16]; };
extern "C" __global__ void pointer_walk_by_value(Setup s)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float *p = s.gain, *const e = s.gain + 16;
    for (int i = 0; i < s.n; ++i) { *p += s.in[t * 12 + i]; p += 1 + (s.order[t * 12 + i] & 3); if (p >= e - 4) p = s.gain; }
    unsigned char bytes[sizeof(s.gain)];
    memcpy(bytes, s.gain, sizeof bytes);
    unsigned h = 1;
    for (int i = 0; i < s.n; ++i) h = h * 31u + bytes[s.order[t * 12 + i] & 63];
    float r = (float)(p - s.gain);
    for (p = s.gain; p < e; ++p) r = r * 0.5f + *p;
    s.out[2 * t] = r;
    s.out[2 * t + 1] = (float)(h & 0xffffff);
}
