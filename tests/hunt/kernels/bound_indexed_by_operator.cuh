#pragma once
struct From { int n; __device__ void operator[](int& m) { if ((unsigned)(n) * 2654435761u == 0x1234567u) m += 3; } };
