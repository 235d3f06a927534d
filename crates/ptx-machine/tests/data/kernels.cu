#include <cuda_fp16.h>
#include <cstdio>
extern "C" __global__ void reduce(const float *in, float *out, int n) {
  __shared__ float part[32]; float s = 0; for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) s += in[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s; __syncthreads();
  if (threadIdx.x < 32) { s = threadIdx.x < blockDim.x/32 ? part[threadIdx.x] : 0; for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o); if (!threadIdx.x) out[blockIdx.x] = s; }
}
extern "C" __global__ void scan(const int *in, int *out, int n) {
  extern __shared__ int s[]; int t = threadIdx.x; if (t >= n) return; s[t] = in[t];
  for (int o = 1; o < n; o <<= 1) { __syncthreads(); int v = t >= o ? s[t-o] : 0; __syncthreads(); s[t] += v; }
  out[t] = s[t];
}
extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned h[16]; if (threadIdx.x < 16) h[threadIdx.x] = 0; __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&h[in[i] & 15], 1u); __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], h[threadIdx.x]);
}
extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float x[8][8], y[8][9]; int r = blockIdx.y*8+threadIdx.y, q = blockIdx.x*8+threadIdx.x; float s = 0;
  for (int k = 0; k < n; k += 8) { x[threadIdx.y][threadIdx.x] = a[r*n+k+threadIdx.x]; y[threadIdx.y][threadIdx.x] = b[(k+threadIdx.y)*n+q]; __syncthreads(); for (int i = 0; i < 8; i++) s = fmaf(x[threadIdx.y][i], y[i][threadIdx.x], s); __syncthreads(); }
  c[r*n+q] = s;
}
extern "C" __global__ void ring(const int *in, int *out, int n, int at) {
  int r[8]; for (int i = 0; i < 8; i++) r[i] = 0; for (int i = 0; i < n; i++) r[(in[i] + threadIdx.x) & 7] += i; out[threadIdx.x] = r[at];
}
__device__ __noinline__ int ackermann(int m, int n) { if (!m) return n+1; if (!n) return ackermann(m-1, 1); return ackermann(m-1, ackermann(m, n-1)); }
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = ackermann(threadIdx.x & 1 ? 1 : 2, threadIdx.x % 5); }
__device__ __noinline__ int twice(int x) { return 2*x; } __device__ __noinline__ int square(int x) { return x*x; } __device__ __noinline__ int minus(int x) { return -x; }
__device__ int (*table[3])(int) = { twice, square, minus };
extern "C" __global__ void pointers(int *out) { out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x); }
extern "C" __global__ void print(int n) { if (threadIdx.x == 1) printf("%d of %5.2f %s|%x\n", n, n * 0.5, "ok", 255u); }
extern "C" __global__ void halves(const __half2 *a, __half *out) { __half2 s = __float2half2_rn(0.f); for (int i = 0; i < 4; i++) s = __hfma2(a[threadIdx.x*4+i], a[i], s); out[threadIdx.x] = __hadd(__low2half(s), __high2half(s)); }
extern "C" __global__ void search(const int *in, int *out, int n) {
  int found = -1; for (int i = 0; i < n; i++) { if (in[i] == (int)threadIdx.x) { found = i; break; } if (in[i] < 0) continue; found -= 1; }
  int all = __popc(__ballot_sync(~0u, found >= 0)); out[threadIdx.x] = found * 100 + all;
}
extern "C" __global__ void locked(int *lock, int *count) { bool done = false; while (!done) { if (atomicCAS(lock, 0, 1) == 0) { *(volatile int *)count += 1; __threadfence(); atomicExch(lock, 0); done = true; } } }
extern "C" __global__ void spin(int *lock, int *count) { while (atomicCAS(lock, 0, 1) != 0); *(volatile int *)count += 1; __threadfence(); atomicExch(lock, 0); }
extern "C" __global__ void partial(int *out) { if (threadIdx.x >= 40) __syncthreads(); else if (threadIdx.x < 8) { out[threadIdx.x] = __shfl_sync(0xff, threadIdx.x * 3, 7 - threadIdx.x); } out[threadIdx.x] += 1; }
extern "C" __global__ void wrong(const int *in, int *out, int at) { int r[4] = {in[0], in[1], in[2], in[3]}; out[0] = r[at] + in[5] / in[6]; }
extern "C" __global__ void unwritten(int *out, int at) { int r[64]; r[at] = 1; out[0] = r[at ^ 5]; }
