// launch: n = 0, 1, 5; m = 0, 3, 50
// a macro leaves the function, which fills what it is given a pointer to
#define LEAVE_IF(c) if (c) return
struct Row { float v[8]; };
static __device__ void fill(Row* row, const float* in, int n) {
    LEAVE_IF(n < 2);
    for (int i = 0; i < 8; i++) row->v[i] = in[i] * n;
}
extern "C" __global__ void leave_in_function(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Row row = {};
    fill(&row, in + t, n);
    float sum = 0;
    for (unsigned s = 0; s < m; s++) {
        sum += row.v[order[t + s] & 7];
        row.v[order[s] & 7] = sum;
    }
    out[t] = sum;
}
