#pragma once
struct Bound { int n; mutable int asked; __device__ operator int() const { ++asked; return n; } };
