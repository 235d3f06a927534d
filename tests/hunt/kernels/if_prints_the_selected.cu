// launch: n = 0, 1, 6; m = 0
// another build prints the array; this one may select from it all the same
extern "C" __global__ void if_prints_the_selected(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float near[6];
    for (int i = 0; i < 6; i++) near[i] = in[t + i] * 2.0f;
#ifdef TRACE
    printf("%f\n", near[0]);
#endif
    float sum = 0;
    for (int j = 0; j < n; j++) {
        int k = order[t + j] % 6;
        k = k < 0 ? -k : k;
        sum = sum * 0.5f + near[k];
        near[k] = sum;
    }
    out[t] = sum;
}
