#pragma once

// Bits of a byte, by its halves.
__device__ __forceinline__ int bits_of(unsigned byte) {
    const int bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4}; //~ constant_table
    return bits[byte & 15] + bits[byte >> 4 & 15];
}
