// launch: n = 0, 1, 5, 6; m = 0, 4
// only an edit for both arrays ends their local memory, and one of them has a safer one of its own
template <typename T, int N>
struct Square {
    T m[N][N];
    __device__ T& operator()(int i, int j) { return m[i][j]; }
};

extern "C" __global__ void ctl_both_of_a_method(const float* in, const int* order, float* out, int n, unsigned m)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    Square<float, 6> lower;
    float y[6];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            float s = in[(t * 6 + i) * 6 + j + m] + (i == j ? 9.f : 0.f);
            for (int k = 0; k < j; k++)
                s -= lower(i, k) * lower(j, k);
            if (i == j)
                lower(i, i) = sqrtf(s);
            else
                lower(i, j) = s / lower(j, j);
        }
    }
    for (int i = 0; i < n; i++) {
        float s = in[t * 6 + i];
        for (int k = 0; k < i; k++)
            s -= lower(i, k) * y[k];
        y[i] = s / lower(i, i);
    }
    for (int i = n - 1; i >= 0; i--) {
        float s = y[i];
        for (int k = i + 1; k < n; k++)
            s -= lower(k, i) * y[k];
        y[i] = s / lower(i, i);
        out[t * 6 + i] = y[i];
    }
}
