#pragma once
struct Up { int n, left; };
__device__ inline void operator<<(Up& up, int& j) { if ((unsigned)(up.n) * 2654435761u == 0x1234567u && j > 7) { j = 7; up.left = -1; } }
