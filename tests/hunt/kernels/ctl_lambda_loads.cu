// launch: n = 0, 3, 5; m = 0, 3
// lambdas load and read the elements
extern "C" __global__ void ctl_lambda_loads(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int base[5];
    float part[5];
    auto load = [&](int d) {
        float v = in[t * 8 + d] * 8;
        base[d] = (int)floorf(v);
        part[d] = v - base[d];
    };
    for (int d = 0; d < n; ++d) load(d);
    auto corner = [&](unsigned c) {
        float w = 1;
        for (int d = 0; d < n; ++d) w *= (c >> d) & 1 ? part[d] + base[d] : 1 - part[d];
        return w;
    };
    float s = 0;
    for (unsigned c = 0; c < (1u << n); ++c) s += corner(c);
    out[t] = s;
}
