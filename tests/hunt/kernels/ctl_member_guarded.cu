// launch: n = 1, 33, 64; m = 0, 1, 3, 7, 8
// The bound of a loop over a member becomes the member's extent.
struct Filter { float taps[8]; int degree; };
extern "C" __global__ void ctl_member_guarded(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Filter f;
    f.degree = m;
    for (int k = 0; k < f.degree; ++k) f.taps[k] = in[k] * i;
    float sum = 0;
    for (int k = 0; k < f.degree; ++k) sum += f.taps[k] * in[k + 1];
    out[i] = sum;
}
