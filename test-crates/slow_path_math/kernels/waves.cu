// Library functions with and without a slow path.

extern "C" __global__ void wave_double(const double *phase, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sin(phase[i]); //~ slow_path_math
}

// The argument is a multiple of π anyway.
extern "C" __global__ void wave_pi(const double *turns, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sinpi(2.0 * turns[i]);
}

extern "C" __global__ void rotate_double(const double *angle, double2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double s, c;
    sincos(angle[i], &s, &c); //~ slow_path_math
    out[i] = make_double2(s, c);
}

extern "C" __global__ void slope(const double *angle, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = angle[i];
    out[i] = tan(a) //~ slow_path_math
        / (1.0 + a);
}

// Bessel functions reduce their argument too.
extern "C" __global__ void bessel(const double *x, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = j1(x[i]); //~ slow_path_math
}

// No reduction: exponentials, roots and divisions.
extern "C" __global__ void no_reduction(const double *x, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = exp(x[i]) / sqrt(1.0 + x[i] * x[i]);
}

extern "C" __global__ void wave_fast(const float *phase, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __sinf(phase[i]);
}

// With CUDA 13.5 a single `sinf` needs no frame either.
extern "C" __global__ void wave_float(const float *phase, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sinf(phase[i]);
}
