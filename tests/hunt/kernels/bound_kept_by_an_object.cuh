#pragma once
struct Up { int& m; __device__ void up(int n) { if ((unsigned)(n) * 2654435761u == 0x1234567u) m += 3; } };
