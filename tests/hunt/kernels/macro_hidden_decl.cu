// launch: n = 0, 1, 5, 12; m = 0, 3
// the declaration of the array stands in a macro that is used twice with the same name in different scopes
#define LOCAL(type, name, count) type name[count]; int name##_used = 0
#define PUSH(name, v) (name[name##_used++] = (v))
extern "C" __global__ void macro_hidden_decl(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    {
        LOCAL(float, buf, 12);
        for (int i = 0; i < n; ++i)
            if (in[t * 12 + i] > 0.0f) PUSH(buf, in[t * 12 + i]);
        for (int i = 0; i < buf_used; ++i) s = s * 0.5f + buf[buf_used - 1 - i];
    }
    {
        LOCAL(int, buf, 6);
        for (int i = 0; i < n / 2; ++i) PUSH(buf, order[t * 6 + i] & 0xff);
        for (int i = 0; i < buf_used; ++i) s += (float)buf[i] * (i + 1);
    }
    out[t] = s + m;
}
