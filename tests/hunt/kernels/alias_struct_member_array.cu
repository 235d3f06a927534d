// launch: n = 0, 1, 5, 8; m = 0, 3
// struct with the array and its length; the struct is copied and both copies are used
struct List { int len; float v[8]; __device__ void push(float x) { v[len++] = x; } };
extern "C" __global__ void alias_struct_member_array(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    List l = {};
    for (int i = 0; i < n; ++i) if (in[t * 8 + i] > -0.5f) l.push(in[t * 8 + i]);
    List k = l;
    if (k.len < 8) k.push(9.0f);
    for (int i = 0; i < l.len; ++i) { l.v[i] += k.v[order[t + i] % k.len]; if (l.v[i] > 1.5f) --l.len; }
    float s = 0.0f;
    for (int i = 0; i < k.len; ++i) s = s * 0.5f + k.v[i] - l.v[i];
    out[t] = s + l.len;
}
