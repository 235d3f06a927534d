// Features of images and of point clouds.
#include <cstdint>

#define DEFINE_HISTOGRAM(name, type, bins)                                                                   \
    __global__ void name(const type *in, int *out, int n)                                                    \
    {                                                                                                        \
        int tally[bins]; /*@ declaration tally in histogram_of_bytes, histogram_of_words */                  \
        const int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;            \
        for (int b = 0; b < bins; ++b) tally[b] = 0;                                                         \
        for (int i = first; i < n; i += stride) ++tally[in[i] % bins];                                       \
        for (int b = 0; b < bins; ++b) out[b * stride + first] = tally[b];                                   \
    }

DEFINE_HISTOGRAM(histogram_of_bytes, uint8_t, 18)   //@ object tally: dynamic_index in histogram_of_bytes //@ access tally in histogram_of_bytes
DEFINE_HISTOGRAM(histogram_of_words, uint32_t, 26)  //@ object tally: dynamic_index in histogram_of_words //@ access tally in histogram_of_words

// Cells of a descriptor; both indices come from the gradient, two cells share its weight.
__global__ void describe(const float2 *gradient, const uint8_t *cell, float *descriptor, int pixels, int keypoints)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= keypoints) return;
    float bin[4][8]; //@ object bin: dynamic_index
#pragma unroll
    for (int b = 0; b < 32; ++b) bin[b / 8][b % 8] = 0.0f;
    for (int p = 0; p < pixels; ++p) {
        const float2 g = gradient[p * keypoints + k];
        const float direction = (atan2f(g.y, g.x) + 3.14159265f) * (8.0f / 6.2831853f);
        const int d = (int)direction & 7;
        const float share = direction - floorf(direction), weight = hypotf(g.x, g.y);
        bin[cell[p]][d] += (1.0f - share) * weight; //@ access bin
        bin[cell[p]][(d + 1) & 7] += share * weight; //@ access bin
    }
    float norm = 0.0f;
#pragma unroll
    for (int b = 0; b < 32; ++b) norm += bin[b / 8][b % 8] * bin[b / 8][b % 8];
#pragma unroll
    for (int b = 0; b < 32; ++b) descriptor[b * keypoints + k] = bin[b / 8][b % 8] * rsqrtf(norm);
}

// The axis of a split is data; the component is found through a pointer to the first.
__global__ void descend(const float4 *points, const int *axis, const float *split, int *leaf, int n, int depth)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 point = points[i]; //@ object point: vector_reinterpret | dynamic_index
    int node = 1;
    for (int level = 0; level < depth; ++level) {
        float &coordinate = (&point.x)[axis[node] & 3];
        const bool right = coordinate > split[node]; //@ access point
        if (right) coordinate -= split[node]; //@ access point
        node = 2 * node + right;
    }
    leaf[i] = node;
}

// Neighbours found so far, nearest last; distances are kept beside them.
__global__ void nearest_neighbours(const float4 *cloud, const float4 *query, int *neighbour, int points, int queries)
{
    const int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries) return;
    struct Candidate {
        float distance;
        int id;
    } kept[10]; //@ object kept: rolled_loop | dynamic_index
    for (int k = 0; k < 10; ++k) kept[k] = {3.4e38f, -1};
    const float4 at = query[q];
    for (int p = 0; p < points; ++p) {
        const float4 c = cloud[p];
        const float d = (c.x - at.x) * (c.x - at.x) + (c.y - at.y) * (c.y - at.y) + (c.z - at.z) * (c.z - at.z);
        if (d >= kept[9].distance) continue;
        int k = 9;
        for (; k > 0 && kept[k - 1].distance > d; --k) kept[k] = kept[k - 1]; //@ access kept
        kept[k] = {d, p}; //@ access kept
    }
    for (int k = 0; k < 10; ++k) neighbour[k * queries + q] = kept[k].id;
}

// Sums for a column of threads: the row that a thread writes is its own number's.
__global__ void pooled_rows(const float *activation, float *pooled, int channels)
{
    float sums[8][3] = {}; //@ object sums: dynamic_index
    for (int c = threadIdx.x; c < channels; c += 32)
#pragma unroll
        for (int r = 0; r < 8; ++r)
#pragma unroll
            for (int s = 0; s < 3; ++s) sums[r][s] += activation[(c * 8 + r) * 3 + s];
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 3; ++s)
            for (int mask = 16; mask; mask >>= 1) sums[r][s] += __shfl_xor_sync(~0u, sums[r][s], mask);
    if (threadIdx.x < 3)
#pragma unroll
        for (int r = 0; r < 8; ++r) pooled[r * 3 + threadIdx.x] = sums[r][threadIdx.x]; //@ access sums
}

// Convolution weights captured by value; the radius is the host's.
__global__ void smooth_tracks(const float *in, float *out, int n, int radius, float sigma)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < radius || i >= n - radius) return;
    float gauss[15]; //@ object gauss: rolled_loop
    for (int d = 0; d <= radius; ++d) gauss[d] = __expf(-d * d / (2.0f * sigma * sigma)); //@ access gauss
    const auto weighted = [gauss, in](int at, int d) { return gauss[d] * (in[at - d] + in[at + d]); }; //@ object weighted|weighted.gauss|gauss: rolled_loop //@ access weighted
    float sum = gauss[0] * in[i];
    for (int d = 1; d <= radius; ++d) sum += weighted(i, d);
    out[i] = sum;
}

// Corners of contours, collected by a pointer that moves on.
__global__ void collect_corners(const int *turn, int2 *corners, int *found, int length, int contours)
{
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= contours) return;
    int2 corner[20]; //@ object corner: dynamic_index | rolled_loop
    int2 *next = corner;
    int2 *const end = corner + 20;
    for (int t = 0; t < length && next != end; ++t)
        if (turn[t * contours + c] & 1) *next++ = make_int2(t, turn[t * contours + c]); //@ access corner
    found[c] = (int)(next - corner);
    for (const int2 *k = corner; k != next; ++k) corners[(k - corner) * contours + c] = *k; //@ access corner
}
