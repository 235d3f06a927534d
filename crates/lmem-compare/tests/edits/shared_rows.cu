// A stack in shared memory, a row for each of 128 threads.
// right: 1 2
// wrong: 51 52 53 54
extern "C" __global__ void shared_rows(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int t = threadIdx.x;
#if V == 0
    int stack[12];
#define S(k) stack[k]
#elif V == 1
    __shared__ int stack[128][13];
#define S(k) stack[t][k]
#elif V == 2
    __shared__ int stack[12][128];
#define S(k) stack[k][t]
#elif V == 51
    __shared__ int stack[128][11];
#define S(k) (&stack[t][0])[k]
#elif V == 52
    __shared__ int stack[12][64];
#define S(k) stack[k][t & 63]
#elif V == 53
    __shared__ int stack[12];
#define S(k) stack[k]
#elif V == 54
    __shared__ int stack[128][13];
#define S(k) stack[t ^ 1][(k) & 7]
#endif
    int top = 0, sum = 0;
    for (int k = 0; k < n; ++k) {
        const int x = in[i * n + k];
        if (x & 1) { if (top < 12) { S(top) = x; ++top; } }
        else if (top > 0) { --top; sum += S(top) * k; }
    }
    for (int k = 0; k < top; ++k) sum = sum * 3 + S(k);
    out[i] = sum;
}
