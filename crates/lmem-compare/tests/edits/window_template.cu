// right: 1 2
// wrong: 51 52 53
template <int N> struct Window {
    float sample[N];
    int next;
    __device__ void add(float x) {
#if V == 0
        sample[next] = x;
#elif V == 51
#pragma unroll
        for (int k = 0; k < 16; ++k) if (k < N && k == next) sample[k] = x;
#elif V == 52
#pragma unroll
        for (int k = 0; k < N - 1; ++k) if (k == next) sample[k] = x;
#else
#pragma unroll
        for (int k = 0; k < N; ++k) if (k == next) sample[k] = x;
#endif
#if V == 53
        next = next == 16 ? 0 : next + 1;
#else
        next = next == N - 1 ? 0 : next + 1;
#endif
    }
};
extern "C" __global__ void window_template(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Window<24> w;
#pragma unroll
    for (int k = 0; k < 24; ++k) w.sample[k] = 0.0f;
    w.next = 0;
    for (int k = 0; k < n; ++k) w.add(in[i * n + k]);
    float sum = 0;
#if V == 2
#pragma unroll 6
#else
#pragma unroll
#endif
    for (int k = 0; k < 24; ++k) sum += w.sample[k] * (k + 1);
    out[i] = sum;
}
