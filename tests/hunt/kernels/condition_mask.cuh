#pragma once
struct Mask { unsigned bits; };
__device__ inline bool operator<(int j, Mask m) { return m.bits >> j & 1; }
