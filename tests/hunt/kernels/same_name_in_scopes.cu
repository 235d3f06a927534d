// launch: n = 1, 5, 12; m = 0, 3
// three arrays called `tmp`; one shadows the other inside the loop over it
extern "C" __global__ void same_name_in_scopes(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float tmp[12], s = 0.0f;
    for (int i = 0; i < n; ++i) tmp[i] = in[t * 12 + i];
    for (int i = 0; i < n; ++i) {
        float x = tmp[i];
        int tmp[4] = {1, 2, 3, 4};
        for (int i = 0; i < 3; ++i) tmp[order[t + i] & 3] += i;
        s = s * 0.5f + x * tmp[i & 3];
        { double tmp = x; s += (float)tmp; }
    }
    for (int i = 0; i < n; ++i) s += tmp[order[t + i] % n];
    out[t] = s;
}
