// launch: n = 1, 5, 21; m = 0, 3
// the head is an unsigned count that wraps at 2^32, and 10 does not divide 2^32
extern "C" __global__ void ring_head_wraps(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float w[10] = {};
    unsigned head = 0xfffffff9u + m;
    for (int i = 0; i < n; ++i, ++head) {
        w[head % 10] += in[t * 24 + i];
        for (unsigned j = 0; j < 10; ++j) w[(head + j) % 10] = w[(head + j) % 10] * 0.5f + 1.0f;
    }
    float s = 0.0f;
    for (unsigned j = 0; j < 10; ++j) s = s * 0.75f + w[(head + j) % 10];
    out[t] = s;
}
