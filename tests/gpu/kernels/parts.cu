// Parts of vectors, chosen at run time through a pointer of another type.

extern "C" __global__ void bytes_of_words(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 packed = make_uint4(k[i], k[n + i], k[2 * n + i], k[3 * n + i]);
    const unsigned char *byte = reinterpret_cast<const unsigned char *>(&packed);
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
        sum += byte[(k[r * n + i] >> 3) & 15];
        packed.x += r;
    }
    out[i] = sum;
}

extern "C" __global__ void lanes_of_four(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 four = make_float4(x[i], x[n + i], x[2 * n + i], x[3 * n + i]);
    float *lane = &four.x;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        sum += lane[k[r * n + i] & 3];
        four.y = 0.5f * four.y + 0.01f * sum;
    }
    out[i] = sum;
}
