// Many small matrices at once, one for each thread.

// LU with row pivoting, in place.
template <typename T, int N>
__device__ __forceinline__ bool factorise(T (&a)[N][N], int (&pivot)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) {
    int p = k;
    T largest = fabs(a[k][k]);
#pragma unroll
    for (int r = k + 1; r < N; ++r) {
      if (fabs(a[r][k]) > largest) {
        largest = fabs(a[r][k]);
        p = r;
      }
    }
    if (largest == T(0)) return false;
    pivot[k] = p;
#pragma unroll
    for (int c = 0; c < N; ++c) {
      const T held = a[k][c];
      a[k][c] = a[p][c];  //@ access matrix in lu_pivoted
      a[p][c] = held;     //@ access matrix in lu_pivoted
    }
#pragma unroll
    for (int r = k + 1; r < N; ++r) {
      const T factor = a[r][k] / a[k][k];
      a[r][k] = factor;
#pragma unroll
      for (int c = k + 1; c < N; ++c) a[r][c] -= factor * a[k][c];
    }
  }
  return true;
}

template <typename T, int N>
__global__ void lu_pivoted(const T* in, T* out, int* order, int count) {
  T matrix[N][N];  //@ object matrix: dynamic_index
  int pivot[N];
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= count) return;
#pragma unroll
  for (int e = 0; e < N * N; ++e) matrix[e / N][e % N] = in[e * count + m];
  if (!factorise(matrix, pivot)) return;
#pragma unroll
  for (int e = 0; e < N * N; ++e) out[e * count + m] = matrix[e / N][e % N];
#pragma unroll
  for (int k = 0; k < N; ++k) order[k * count + m] = pivot[k];
}

template __global__ void lu_pivoted<float, 6>(const float*, float*, int*, int);
template __global__ void lu_pivoted<double, 5>(const double*, double*, int*, int);

// Cholesky of any order up to eight: bounds come from the host.
__global__ void cholesky_any(const double* in, double* out, int order, int count) {
  double l[8][8];  //@ object l: rolled_loop
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= count) return;
  for (int r = 0; r < order; ++r) {
    for (int c = 0; c <= r; ++c) {
      double sum = in[(r * order + c) * count + m];
      for (int k = 0; k < c; ++k) sum -= l[r][k] * l[c][k];  //@ access l
      l[r][c] = r == c ? sqrt(sum) : sum / l[c][c];          //@ access l
      out[(r * order + c) * count + m] = l[r][c];            //@ access l
    }
  }
}

// A constant order, and the same loops: all of it unrolls.
__global__ void cholesky_four(const double* in, double* out, int count) {  //@ clean
  double l[4][4];
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= count) return;
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c <= r; ++c) {
      double sum = in[(r * 4 + c) * count + m];
      for (int k = 0; k < c; ++k) sum -= l[r][k] * l[c][k];
      l[r][c] = r == c ? sqrt(sum) : sum / l[c][c];
      out[(r * 4 + c) * count + m] = l[r][c];
    }
  }
}

struct Matrix3 {
  float m[3][3];
  __device__ float& operator()(int row, int column) { return m[row][column]; }
};

// Jacobi rotations: the largest off-diagonal element says which rows are turned.
__global__ void jacobi_eigenvalues(const float* in, float* eigenvalue, int count) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= count) return;
  Matrix3 s;  //@ object s|s.m|m: dynamic_index
#pragma unroll
  for (int e = 0; e < 9; ++e) s(e / 3, e % 3) = in[e * count + id];
  for (int sweep = 0; sweep < 12; ++sweep) {
    int p = 0, q = 1;
    if (fabsf(s(0, 2)) > fabsf(s(p, q))) q = 2;
    if (fabsf(s(1, 2)) > fabsf(s(p, q))) p = 1, q = 2;  //@ access s
    const float theta = 0.5f * (s(q, q) - s(p, p)) / (s(p, q) + 1e-20f);  //@ access s
    const float t = copysignf(1.0f, theta) / (fabsf(theta) + sqrtf(theta * theta + 1.0f));
    const float c = rsqrtf(t * t + 1.0f), sn = t * c;
    for (int k = 0; k < 3; ++k) {
      const float a = s(k, p), b = s(k, q);  //@ access s
      s(k, p) = c * a - sn * b;              //@ access s
      s(k, q) = sn * a + c * b;              //@ access s
    }
    for (int k = 0; k < 3; ++k) {
      const float a = s(p, k), b = s(q, k);  //@ access s
      s(p, k) = c * a - sn * b;              //@ access s
      s(q, k) = sn * a + c * b;              //@ access s
    }
  }
#pragma unroll
  for (int k = 0; k < 3; ++k) eigenvalue[k * count + id] = s(k, k);
}

// Solves by back substitution with a partial unroll that leaves a counter.
__global__ void back_substitution(const float* upper, const float* rhs, float* x, int count) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= count) return;
  float solution[40];  //@ object solution: rolled_loop
#pragma unroll 1
  for (int r = 39; r >= 0; --r) {
    float sum = rhs[r * count + id];
#pragma unroll 4
    for (int c = r + 1; c < 40; ++c) sum -= upper[r * 40 + c] * solution[c];  //@ access solution
    solution[r] = sum / upper[r * 41];  //@ access solution
    x[r * count + id] = solution[r];    //@ access solution
  }
}

// A 20 by 20 matrix for each thread, inverted without pivots.
__global__ void invert_twenty(const double* in, double* out, int count) {
  double work[20][20];  //@ object work: large_array
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= count) return;
  for (int e = 0; e < 400; ++e) work[e / 20][e % 20] = in[e * count + id];  //@ access work
  for (int k = 0; k < 20; ++k) {
    const double scale = 1.0 / work[k][k];  //@ access work
    work[k][k] = 1.0;                       //@ access work
    for (int c = 0; c < 20; ++c) work[k][c] *= scale;  //@ access work
    for (int r = 0; r < 20; ++r) {
      if (r == k) continue;
      const double factor = work[r][k];  //@ access work
      work[r][k] = 0.0;                  //@ access work
      for (int c = 0; c < 20; ++c) work[r][c] -= factor * work[k][c];  //@ access work
    }
  }
  for (int e = 0; e < 400; ++e) out[e * count + id] = work[e / 20][e % 20];  //@ access work
}
