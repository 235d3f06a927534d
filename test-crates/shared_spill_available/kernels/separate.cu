// Compiled separately, where ptxas refuses the pragma.

#include "outer.cuh"

__global__ void __launch_bounds__(256) tile_separate(const float *a, const float *b, float *c, int n) {
    outer_product(a, b, c, n);
}
