#pragma once
__device__ inline int* address_of(int& n) { return &n; }
