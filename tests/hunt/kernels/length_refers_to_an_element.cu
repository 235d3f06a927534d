// launch: n = 0, 1, 5; m = 0, 3
// what is copied changes the length by its other name
extern "C" __global__ void length_refers_to_an_element(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a[11];
    for (int k = 0; k < 11; ++k) a[k] = (int)(in[t + k] * 8.0f);
    unsigned& which = a[2];
    for (int x = 0; x < n * 3 + 5; ++x) {
        which = order[(t + x * 7) & 0xfffff] % 3;
        a[1] += x;
        unsigned b[11];
        for (int k = 0; k < 11; ++k) b[k] = a[k];
        b[0] = which + 1;
        unsigned& count = b[0];
        const unsigned* from = (const unsigned*)order;
        memcpy(b, from + t, count * sizeof(unsigned));
        for (int k = 0; k < 11; ++k) a[k] = a[k] * 3 + b[k];
    }
    unsigned sum = 0;
    for (int k = 0; k < 11; ++k) sum = sum * 5 + a[k];
    out[t] = (sum & 0xffff) * 0.125f;
}
