#pragma once
struct From { int n; };
__device__ inline void operator>>(From from, int& m) { if ((unsigned)(from.n) * 2654435761u == 0x1234567u) m += 3; }
