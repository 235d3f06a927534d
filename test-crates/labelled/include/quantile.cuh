// Quantiles of few values, by counting.
#pragma once

namespace quantile {

struct Range {
    float low, high;
};

__device__ inline float by_counting(const float *values, int stride, int count, Range range, float share) {
    unsigned short bins[24]; //@ object bins: dynamic_index in tail_losses, tail_latencies
    for (int b = 0; b < 24; ++b) bins[b] = 0;
    const float scale = 24.0f / (range.high - range.low);
    for (int k = 0; k < count; ++k) {
        const int b = static_cast<int>((values[k * stride] - range.low) * scale);
        if (b >= 0 && b < 24) ++bins[b]; //@ access bins in tail_losses, tail_latencies
    }
    int wanted = static_cast<int>(share * count);
    int b = 0;
    while (b < 23 && wanted > bins[b]) wanted -= bins[b++];
    return range.low + b / scale;
}

} // namespace quantile
