// Tables that assignments fill.

__device__ int day_of_year(int half) {
    int offset[24]; //~ constant_table
    offset[0] = 0;
    offset[1] = 15;
    offset[2] = 31;
    offset[3] = 46;
    offset[4] = 59;
    offset[5] = 74;
    offset[6] = 90;
    offset[7] = 105;
    offset[8] = 120;
    offset[9] = 135;
    offset[10] = 151;
    offset[11] = 166;
    offset[12] = 181;
    offset[13] = 196;
    offset[14] = 212;
    offset[15] = 227;
    offset[16] = 243;
    offset[17] = 258;
    offset[18] = 273;
    offset[19] = 288;
    offset[20] = 304;
    offset[21] = 319;
    offset[22] = 334;
    offset[23] = 349;
    return offset[half];
}

extern "C" __global__ void days(const int *half, int *out, int n) {
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += day_of_year(half[k * 256 + threadIdx.x]);
    out[threadIdx.x] = sum;
}

// One of the values is data.
extern "C" __global__ void own_days(const int *month, int *out, int n) {
    int offset[8]; //~ dynamic_index
    offset[0] = 0;
    offset[1] = 31;
    offset[2] = 59 + n;
    offset[3] = 90;
    offset[4] = 120;
    offset[5] = 151;
    offset[6] = 181;
    offset[7] = 212;
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += offset[month[k * 256 + threadIdx.x]];
    out[threadIdx.x] = sum;
}
