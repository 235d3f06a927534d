// Quantised matrices.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int kGroup = 32;

struct BlockQ4 {
  __half scale;
  uint8_t packed[kGroup / 2];
};

// Each thread keeps a partial sum for every row; the one it writes is that of its own number.
template <int Rows>
__global__ void matvec_q4(const BlockQ4 *__restrict__ weights, const float *__restrict__ x, float *__restrict__ y, int blocks) { //@ clean
  float partial[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) partial[r] = 0.0f;
  for (int b = threadIdx.x; b < blocks; b += 32) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const BlockQ4 &block = weights[(blockIdx.x * Rows + r) * blocks + b];
      float sum = 0.0f;
      for (int k = 0; k < kGroup / 2; ++k) {
        sum += (block.packed[k] & 15) * x[b * kGroup + 2 * k];
        sum += (block.packed[k] >> 4) * x[b * kGroup + 2 * k + 1];
      }
      partial[r] += sum * __half2float(block.scale);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) partial[r] += __shfl_xor_sync(~0u, partial[r], mask);
  if (threadIdx.x < Rows) y[blockIdx.x * Rows + threadIdx.x] = partial[threadIdx.x];
}

template __global__ void matvec_q4<8>(const BlockQ4 *, const float *, float *, int);
template __global__ void matvec_q4<16>(const BlockQ4 *, const float *, float *, int);

// Columns by thread, as tiles of `mmq` do: `tmp[j][threadIdx.x % 4]`.
__global__ void tile_columns(const int8_t *__restrict__ a, const int8_t *__restrict__ b, int *__restrict__ c, int k_total) { //@ clean
  int tmp[4][4] = {};
  for (int k = 0; k < k_total; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) tmp[j][i] += a[k * 4 + j] * b[(k * 4 + i) * 32 + threadIdx.x];
#pragma unroll
  for (int j = 0; j < 4; ++j) c[j * 32 + threadIdx.x] = tmp[j][threadIdx.x % 4];
}

// A code book of sixteen values.
__global__ void dequantise_nf4(const uint8_t *__restrict__ codes, const float *__restrict__ absmax, float *__restrict__ out, int n) { //@ clean
  const float book[16] = {-1.0f, -0.6961928f, -0.5250731f, -0.3949175f, -0.2844414f, -0.1847734f, -0.0910500f, 0.0f,
                          0.0795803f, 0.1609302f, 0.2461123f, 0.3379152f, 0.4407098f, 0.5626170f, 0.7229568f, 1.0f};
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint8_t code = codes[i];
  const float scale = absmax[i / 32];
  out[2 * i] = book[code >> 4] * scale;
  out[2 * i + 1] = book[code & 15] * scale;
}

// The same book where every thread reads it from constant memory.
__constant__ float nf4_book[16];

__global__ void dequantise_nf4_constant(const uint8_t *__restrict__ codes, const float *__restrict__ absmax, float *__restrict__ out, int n) {  //@ clean
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[2 * i] = nf4_book[codes[i] >> 4] * absmax[i / 32];
  out[2 * i + 1] = nf4_book[codes[i] & 15] * absmax[i / 32];
}

// Half of four floats as eight halves; the lane is a loop's that runs as far as the host says.
__global__ void scale_lanes(const float4 *__restrict__ in, float4 *__restrict__ out, const __half *__restrict__ scale, int lanes, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 raw = in[i];  //@ object raw: vector_reinterpret
  __half *lane = reinterpret_cast<__half *>(&raw);
#pragma unroll 1
  for (int k = 0; k < lanes; ++k) lane[k] = __hmul(lane[k], scale[k]);  //@ access raw
  out[i] = raw;
}

// The same cast with lanes that are all known.
__global__ void scale_eight_lanes(const float4 *__restrict__ in, float4 *__restrict__ out, const __half2 *__restrict__ scale, int n) {  //@ clean
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 raw = in[i];
  __half2 *lane = reinterpret_cast<__half2 *>(&raw);
#pragma unroll
  for (int k = 0; k < 4; ++k) lane[k] = __hmul2(lane[k], scale[k]);
  out[i] = raw;
}

// Six-bit scales: a byte of a register array is found through a pointer to bytes.
__global__ void unpack_scales(const uint32_t *__restrict__ packed, const int *__restrict__ group, float *__restrict__ out, int n, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t words[3];  //@ object words: vector_reinterpret | dynamic_index
#pragma unroll
  for (int w = 0; w < 3; ++w) words[w] = packed[w * n + i] & 0x3f3f3f3fu;
  uint8_t *bytes = (uint8_t *)words;
  float sum = 0.0f;
  for (int r = 0; r < rounds; ++r) {
    const int g = group[r * n + i] % 12;
    sum += bytes[g];                         //@ access words
    bytes[g] = (uint8_t)(bytes[g] ^ r & 7);  //@ access words
  }
  out[i] = sum;
}

// Accumulators in half precision, one for each bin of the activation.
__global__ void calibrate_bins(const __half *__restrict__ activation, __half *__restrict__ bins, int n) {
  __half bin[20];  //@ object bin: dynamic_index
  const int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int b = 0; b < 20; ++b) bin[b] = __float2half(0.0f);
  for (int i = first; i < n; i += stride) {
    const int b = min(19, __half2int_rd(__habs(activation[i])));
    bin[b] = __hadd(bin[b], activation[i]);  //@ access bin
  }
#pragma unroll
  for (int b = 0; b < 20; ++b) bins[b * stride + first] = bin[b];
}
