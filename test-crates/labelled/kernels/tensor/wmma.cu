// Tensor cores.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// The bias of a fragment's element is looked up with a bound of the host's.
__global__ void gemm_bias_prefix(const half *a, const half *b, const float *bias, float *c, int k, int elements)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_fragment;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b_fragment;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> accumulator; //@ object accumulator|accumulator.x|x: rolled_loop
    wmma::fill_fragment(accumulator, 0.0f);
    for (int step = 0; step < k; step += 16) {
        wmma::load_matrix_sync(a_fragment, a + step, k);
        wmma::load_matrix_sync(b_fragment, b + step, k);
        wmma::mma_sync(accumulator, a_fragment, b_fragment, accumulator);
    }
#pragma unroll 1
    for (int e = 0; e < elements; ++e)
        accumulator.x[e] = fmaxf(accumulator.x[e] + bias[e], 0.0f); //@ access accumulator
    wmma::store_matrix_sync(c, accumulator, 16, wmma::mem_row_major);
}

// Bounded by the fragment itself.
__global__ void gemm_relu(const half *a, const half *b, float *c, int k) //@ clean
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_fragment;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b_fragment;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> accumulator;
    wmma::fill_fragment(accumulator, 0.0f);
    for (int step = 0; step < k; step += 16) {
        wmma::load_matrix_sync(a_fragment, a + step, k);
        wmma::load_matrix_sync(b_fragment, b + step, k);
        wmma::mma_sync(accumulator, a_fragment, b_fragment, accumulator);
    }
    for (int e = 0; e < accumulator.num_elements; ++e) accumulator.x[e] = fmaxf(accumulator.x[e], 0.0f);
    wmma::store_matrix_sync(c, accumulator, 16, wmma::mem_row_major);
}

// A row of fragments of which one is chosen.
__global__ void gemm_select_tile(const half *a, const half *b, float *c, const int *tile, int tiles)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4]; //@ object sum: dynamic_index
    for (int t = 0; t < 4; ++t) wmma::fill_fragment(sum[t], 0.0f);
    for (int t = 0; t < tiles; ++t) {
        wmma::load_matrix_sync(left, a + t * 256, 16);
        wmma::load_matrix_sync(right, b + t * 256, 16);
        const int into = tile[t];
        wmma::mma_sync(sum[into], left, right, sum[into]); //@ access sum
    }
    for (int t = 0; t < 4; ++t) wmma::store_matrix_sync(c + t * 256, sum[t], 16, wmma::mem_row_major);
}
