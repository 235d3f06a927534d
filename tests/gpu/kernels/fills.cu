// Tables that assignments fill.

extern "C" __global__ void days_of_months(const float *x, const int *k, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int offset[16];
    offset[0] = 0;
    offset[1] = 31;
    offset[2] = 59;
    offset[3] = 90;
    offset[4] = 120;
    offset[5] = 151;
    offset[6] = 181;
    offset[7] = 212;
    offset[8] = 243;
    offset[9] = 273;
    offset[10] = 304;
    offset[11] = 334;
    offset[12] = 365;
    offset[13] = 396;
    offset[14] = 424;
    offset[15] = 455;
    int sum = 0;
    for (int r = 0; r < rounds; ++r) sum += offset[k[r * n + i] & 15] ^ r;
    out[i] = sum;
}
