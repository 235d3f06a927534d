extern "C" __global__ void moments(const float* in, const int* index, float* out, int n) {
    float moment[COUNT] = {};
    for (int i = 0; i < n; ++i) {
        moment[index[i] % COUNT] += in[i] * in[i];
    }
    for (int i = 0; i < COUNT; ++i) {
        out[(blockIdx.x * blockDim.x + threadIdx.x) * COUNT + i] = moment[i];
    }
}
