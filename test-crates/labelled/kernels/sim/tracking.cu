// Tracking of many targets: filters and gates with small fixed sizes.
#include "../../include/array.cuh"

namespace tracking {

template <typename Scalar, int Rows, int Columns>
class Matrix {
public:
    __device__ Scalar &at(int r, int c) { return data_[r * Columns + c]; }
    __device__ Scalar at(int r, int c) const { return data_[r * Columns + c]; }

private:
    Scalar data_[Rows * Columns];
};

// Prediction with sizes in the type: everything unrolls.
__global__ void predict(const float *in, float *out, float dt, int tracks) { //@ clean
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tracks) return;
    Matrix<float, 4, 4> p, fp;
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) p.at(r, c) = in[(r * 4 + c) * tracks + t];
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) fp.at(r, c) = p.at(r, c) + (r < 2 ? dt * p.at(r + 2, c) : 0.0f);
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) out[(r * 4 + c) * tracks + t] = fp.at(r, c) + (c < 2 ? dt * fp.at(r, c + 2) : 0.0f);
}

// The sensor says which component it has measured.
__global__ void update_scalar(const float *in, const int *component, const float *residual, float *out, int tracks, int updates) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tracks) return;
    Matrix<float, 4, 4> p; //@ object p|p.data_|data_: dynamic_index
    Array<float, 4> x; //@ object x|x.items|items: dynamic_index
    for (int r = 0; r < 4; ++r) {
        x[r] = 0.0f;
        for (int c = 0; c < 4; ++c) p.at(r, c) = in[(r * 4 + c) * tracks + t];
    }
    for (int u = 0; u < updates; ++u) {
        const int m = component[u * tracks + t];
        const float gain = 1.0f / (p.at(m, m) + 0.1f); //@ access p
        x[m] += gain * residual[u * tracks + t]; //@ access x
        for (int c = 0; c < 4; ++c) p.at(m, c) *= 1.0f - gain; //@ access p
    }
    float trace = 0.0f;
    for (int k = 0; k < 4; ++k) trace += p.at(k, k) * x[k];
    out[t] = trace;
}

// Auction for assignments; prices stay, bids are taken by column.
template <int Targets>
__global__ void auction(const float *benefit, int *owner, int problems, int rounds) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= problems) return;
    float price[Targets]; //@ object price: dynamic_index
    signed char holder[Targets]; //@ object holder: dynamic_index
#pragma unroll
    for (int t = 0; t < Targets; ++t) {
        price[t] = 0.0f;
        holder[t] = -1;
    }
    for (int round = 0; round < rounds; ++round) {
        const int bidder = round % Targets;
        int best = 0;
        float first = -1e30f, second = -1e30f;
#pragma unroll
        for (int t = 0; t < Targets; ++t) {
            const float value = benefit[(bidder * Targets + t) * problems + id] - price[t];
            if (value > first) {
                second = first;
                first = value;
                best = t;
            } else if (value > second) {
                second = value;
            }
        }
        price[best] += first - second + 0.01f; //@ access price
        holder[best] = static_cast<signed char>(bidder); //@ access holder
    }
#pragma unroll
    for (int t = 0; t < Targets; ++t) owner[t * problems + id] = holder[t];
}

template __global__ void auction<10>(const float *, int *, int, int);

// Weights of hypotheses, normalised in a lambda that is handed around.
template <typename Visit>
__device__ __forceinline__ void for_each_hypothesis(int count, Visit visit) {
    for (int h = 0; h < count; ++h) visit(h);
}

__global__ void normalise_hypotheses(const float *likelihood, float *weight, int hypotheses, int tracks) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tracks) return;
    float local[20]; //@ object local: rolled_loop
    float total = 0.0f;
    for_each_hypothesis(hypotheses, [&](int h) {
        local[h] = __expf(likelihood[h * tracks + t]); //@ access local
        total += local[h]; //@ access local
    });
    for_each_hypothesis(hypotheses, [&](int h) { weight[h * tracks + t] = local[h] / total; }); //@ access local
}

} // namespace tracking
