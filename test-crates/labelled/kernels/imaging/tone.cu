// Local tone mapping: a thread looks after one column of a tile.
#include <cstdint>

namespace tone {

constexpr int Levels = 64;

// Cumulative histogram of a column, clipped as in CLAHE.
__global__ void clipped_histogram(const uint8_t *__restrict__ luma, uint16_t *__restrict__ lut, int pitch, int rows,
                                  int clip) {
    uint16_t hist[Levels]; //@ object hist: dynamic_index
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= pitch) return;
#pragma unroll
    for (int level = 0; level < Levels; ++level) hist[level] = 0;
    for (int row = 0; row < rows; ++row) {
        const uint8_t value = luma[row * pitch + column];
        hist[value >> 2]++; //@ access hist
    }
    int excess = 0;
#pragma unroll
    for (int level = 0; level < Levels; ++level) {
        if (hist[level] > clip) {
            excess += hist[level] - clip;
            hist[level] = static_cast<uint16_t>(clip);
        }
    }
    int sum = 0;
#pragma unroll
    for (int level = 0; level < Levels; ++level) {
        sum += hist[level] + excess / Levels;
        lut[level * pitch + column] = static_cast<uint16_t>(sum);
    }
}

// Exposure fusion: the weights of the brackets stay in registers, the sums by zone do not.
__global__ void zone_means(const float *__restrict__ exposure, const uint8_t *__restrict__ zone, float *__restrict__ mean,
                           int pixels) {
    float bracket_weight[4];
    float zone_sum[12]; //@ object zone_sum: dynamic_index
    float zone_count[12]; //@ object zone_count: dynamic_index
    const int stride = gridDim.x * blockDim.x;
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int z = 0; z < 12; ++z) zone_sum[z] = zone_count[z] = 0.0f;
    for (int p = first; p < pixels; p += stride) {
        float total = 0.0f;
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            const float e = exposure[b * pixels + p] - 0.5f;
            bracket_weight[b] = __expf(-12.5f * e * e);
            total += bracket_weight[b];
        }
        float fused = 0.0f;
#pragma unroll
        for (int b = 0; b < 4; ++b) fused += bracket_weight[b] / total * exposure[b * pixels + p];
        const int z = zone[p];
        zone_sum[z] += fused;   //@ access zone_sum
        zone_count[z] += 1.0f;  //@ access zone_count
    }
#pragma unroll
    for (int z = 0; z < 12; ++z) mean[z * stride + first] = zone_sum[z] / fmaxf(zone_count[z], 1.0f);
}

// Seven rows at a time; the oldest gives way to the newest.
__global__ void unsharp_rows(const float *__restrict__ in, float *__restrict__ out, int pitch, int rows, float amount) { //@ clean
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= pitch) return;
    float recent[7];
    float box = 0.0f;
#pragma unroll
    for (int k = 0; k < 7; ++k) {
        recent[k] = in[k * pitch + x];
        box += recent[k];
    }
#pragma unroll 1
    for (int y = 7; y < rows; ++y) {
        const float centre = recent[(y - 4) % 7];
        out[(y - 4) * pitch + x] = centre + amount * (centre - box * (1.0f / 7.0f));
        const float next = in[y * pitch + x];
        box += next - recent[y % 7];
        recent[y % 7] = next;
    }
}

// Weights of a bilateral filter by difference of level, for a radius that the host chooses.
__global__ void bilateral_columns(const uint8_t *__restrict__ in, uint8_t *__restrict__ out, int pitch, int rows, int radius,
                                  float sigma) {
    float spatial[17]; //@ object spatial: rolled_loop
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= pitch) return;
    for (int d = 0; d <= radius; ++d) {
        spatial[d] = __expf(-0.5f * d * d / (sigma * sigma)); //@ access spatial
    }
    for (int y = radius; y < rows - radius; ++y) {
        const float centre = in[y * pitch + x];
        float sum = centre * spatial[0], norm = spatial[0];
        for (int d = 1; d <= radius; ++d) {
            const float up = in[(y - d) * pitch + x], down = in[(y + d) * pitch + x];
            const float wu = spatial[d] * __expf(-fabsf(up - centre)); //@ access spatial
            const float wd = spatial[d] * __expf(-fabsf(down - centre)); //@ access spatial
            sum += wu * up + wd * down;
            norm += wu + wd;
        }
        out[y * pitch + x] = static_cast<uint8_t>(sum / norm + 0.5f);
    }
}

// All six planes are known when the kernel is compiled, although it does not look so.
__global__ void blend_planes(const float *__restrict__ planes, float *__restrict__ out, int pixels, float alpha) { //@ clean
    float plane[6];
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels) return;
    int k = 0;
    for (const float *source = planes + p; k < 6; source += pixels) plane[k++] = *source;
    float result = plane[5];
    while (k-- > 0) result = alpha * plane[k] + (1.0f - alpha) * result;
    out[p] = result;
}

} // namespace tone
