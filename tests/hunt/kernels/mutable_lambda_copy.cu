// launch: n = 0, 1, 5, 12; m = 0, 3
// the lambda owns a copy of the table and changes it from call to call
extern "C" __global__ void mutable_lambda_copy(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int tab[16] = {1, 3, 5, 7, 2, 4, 6, 8, 11, 13, 15, 17, 12, 14, 16, 18};
    auto take = [tab](int k) mutable { return tab[k] ^= 9; };
    auto look = [&tab](int k) { return tab[k]; };
    int s = 0;
    for (int i = 0; i < n; ++i) s = (s * 3 + take(order[t * 12 + i] & 15) * 2 + look(order[t * 12 + i] & 15)) & 0xffff;
    out[t] = (float)s;
}
