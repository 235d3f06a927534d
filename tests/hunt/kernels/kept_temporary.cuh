#pragma once
struct W { float f; }; struct E { const W& a; float b; __device__ operator float() const { return a.f * b; } };
__device__ inline E operator*(const W& a, float b) { return E{a, b}; }
struct Hits { float hit[6]; int id;  };
