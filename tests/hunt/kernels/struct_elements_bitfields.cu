// launch: n = 0, 5, 12; m = 0, 3
// elements with bit-fields and an operator that is not what it seems
struct Slot { unsigned lo : 5; int hi : 3; float w; __device__ Slot& operator+=(float x) { w += x; lo++; hi = hi < 3 ? hi + 1 : -4; return *this; } };
extern "C" __global__ void struct_elements_bitfields(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Slot q[8] = {};
    for (int i = 0; i < n; ++i) { q[order[t * 12 + i] & 7] += in[t * 12 + i]; q[order[t * 12 + i + 1] & 7].lo += 9; }
    float s = 0.0f;
    for (int i = 0; i < 8; ++i) s = s * 0.5f + q[i].w + q[i].lo - 2.0f * q[i].hi;
    out[t] = s;
}
