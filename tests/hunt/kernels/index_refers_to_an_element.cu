// launch: n = 0, 1, 5; m = 0, 3
// the index is a name of an element that is written
extern "C" __global__ void index_refers_to_an_element(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[11];
    for (int k = 0; k < 11; ++k) a[k] = (int)(in[t + k] * 8.0f);
    unsigned& which = a[2];
    for (int x = 0; x < n * 3 + 5; ++x) {
        which = order[(t + x * 7) & 0xfffff] % 11;
        a[which]++;
        a[which] *= 3;
    }
    unsigned sum = 0;
    for (int k = 0; k < 11; ++k) sum = sum * 5 + a[k];
    out[t] = (sum & 0xffff) * 0.125f;
}
