// launch: n = 0, 3, 16; m = 0, 5
// two parts of a vector in one statement, which also changes what the next round selects
extern "C" __global__ void parts_twice_in_a_statement(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 q = make_uint4(order[t], order[t + 1] + m, order[t + 2], order[t + 3]);
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&q);
    float part = 0.0f;
    for (int i = 0; i < n; ++i) part += (bytes[i] & 0xf) * in[t + i] + (bytes[i] >> 4) * in[t + 16 + i] - bytes[15 - i];
    out[t] = part;
}
