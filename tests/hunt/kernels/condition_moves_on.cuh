#pragma once
struct It { const float* p; };
__device__ inline bool operator!(It& a) { return *a.p++ > 1e30f; }
