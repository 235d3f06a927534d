// Other functions give other last digits: compared with a tolerance.

extern "C" __global__ void near_turns(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0.0;
    for (int r = 0; r < rounds; ++r)
        sum += sin(3.14159265358979323846 * x[(r & 63) * n + i]);
    out[i] = sum;
}

extern "C" __global__ void near_phases(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0.0;
    for (int r = 0; r < rounds; ++r)
        sum += cos((double)x[(r & 63) * n + i] * 9.0);
    out[i] = sum;
}
