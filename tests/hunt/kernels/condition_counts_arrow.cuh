#pragma once
struct I { int n; }; struct Q { I in; int t; __device__ I* operator->() { ++t; return &in; } };
