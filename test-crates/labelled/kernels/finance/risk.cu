// Prices and risks, a path or a portfolio for each thread.
#include "../../include/quantile.cuh"

// Value at risk: the array lies in the header.
__global__ void tail_losses(const float *losses, float *tail, int scenarios, int portfolios, float share) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < portfolios) tail[p] = quantile::by_counting(losses + p, portfolios, scenarios, {0.0f, 1000.0f}, share);
}

// The same function beside an array of this kernel.
__global__ void tail_latencies(const float *latency, const int *venue, float *tail, float *by_venue, int orders, int days) {
    const int d = blockIdx.x * blockDim.x + threadIdx.x;
    if (d >= days) return;
    float slowest[14]; //@ object slowest: dynamic_index
    for (float &s : slowest) s = 0.0f;
    for (int o = 0; o < orders; ++o) {
        float &s = slowest[venue[o * days + d]];
        s = fmaxf(s, latency[o * days + d]); //@ access slowest
    }
    tail[d] = quantile::by_counting(latency + d, days, orders, {0.0f, 250.0f}, 0.99f);
    for (int v = 0; v < 14; ++v) by_venue[v * days + d] = slowest[v];
}

// A binomial tree of as many steps as the host wants, folded in place.
template <typename Real>
__global__ void american_puts(const Real *spot, const Real *strike, Real *price, int options, int steps, Real up, Real discount) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= options) return;
    Real value[128]; //@ object value: rolled_loop | large_array
    Real s = spot[o];
    for (int k = 0; k < steps; ++k) s /= up;
    Real node = s;
    for (int k = 0; k <= steps; ++k, node *= up * up) value[k] = fmax(strike[o] - node, Real(0)); //@ access value
    for (int t = steps - 1; t >= 0; --t) {
        s *= up;
        node = s;
        for (int k = 0; k <= t; ++k, node *= up * up)
            value[k] = fmax(discount * Real(0.5) * (value[k] + value[k + 1]), strike[o] - node); //@ access value
    }
    price[o] = value[0];
}

template __global__ void american_puts<double>(const double *, const double *, double *, int, int, double, double);

// Payment calendar: days of the months, and of how many have passed.
__global__ void accrue(const int2 *dates, const float *rate, float *accrued, int bonds) {
    const int passed[13] = {0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}; //@ object passed: constant_table
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < bonds; b += gridDim.x * blockDim.x) {
        int days = 0;
        for (int coupon = dates[b].x; coupon < dates[b].y; ++coupon)
            days += passed[coupon % 12 + 1] - passed[(coupon + 7) % 12 + 1]; //@ access passed
        accrued[b] = days * rate[b] / 365.0f;
    }
}

// Brownian bridge: the order of the points comes from tables of the host.
__global__ void bridge_paths(const float *normal, const int *left, const int *right, const int *middle, float *average, int paths, int points) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths) return;
    float path[65]; //@ object path: dynamic_index
    path[0] = 0.0f;
    path[64] = 8.0f * normal[p];
    for (int k = 1; k < points; ++k) {
        const int l = left[k], r = right[k], m = middle[k];
        const float w = float(m - l) / float(r - l);
        path[m] = (1.0f - w) * path[l] + w * path[r] + sqrtf(w * (r - m)) * normal[k * paths + p]; //@ access path
    }
    float sum = 0.0f;
    for (int k = 0; k <= 64; ++k) sum += path[k];
    average[p] = sum / 65.0f;
}

struct Curve {
    float tenor[24];
    float rate[24];
};

__device__ __noinline__ void shift(Curve &curve, float amount, int from) {
    for (int k = from; k < 24; ++k) curve.rate[k] += amount * curve.tenor[k];
}

// The curve comes by value, and is shifted by a function that takes it by reference.
__global__ void durations(Curve curve, //@ object curve: param_copy
                          const float *cash, float *duration, int positions) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= positions) return;
    float before = 0.0f, after = 0.0f;
    for (int k = 0; k < 24; ++k) before += cash[k * positions + p] * __expf(-curve.rate[k] * curve.tenor[k]);
    shift(curve, 0.0001f, p % 24); //@ access curve
    for (int k = 0; k < 24; ++k) after += cash[k * positions + p] * __expf(-curve.rate[k] * curve.tenor[k]);
    duration[p] = (before - after) / before;
}

// A whole copy of a parameter, bent at one place for each thread.
__global__ void bumped_values(const Curve curve, const float *cash, float *value, int positions, int bumps) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= positions) return;
    Curve bumped = curve; //@ object bumped|bumped.rate: param_copy | dynamic_index
    for (int b = 0; b < bumps; ++b) {
        bumped.rate[(p + b) % 24] += 0.0001f; //@ access bumped
        float sum = 0.0f;
#pragma unroll 1
        for (int k = 0; k < 24; ++k) sum += cash[k * positions + p] * __expf(-bumped.rate[k] * bumped.tenor[k]); //@ access bumped
        value[b * positions + p] = sum;
    }
}
