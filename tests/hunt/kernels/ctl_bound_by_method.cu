// launch: n = 0, 1, 5; m = 0, 3
// the bound is a method that gives a member
template <typename T> static __device__ T get8(const T* a, int i) {
    switch (i) {
    case 0: return a[0]; case 1: return a[1]; case 2: return a[2]; case 3: return a[3];
    case 4: return a[4]; case 5: return a[5]; case 6: return a[6]; case 7: return a[7];
    }
    return T();
}
template <typename T> static __device__ void set8(T* a, int i, T v) {
    switch (i) {
    case 0: a[0] = v; break; case 1: a[1] = v; break; case 2: a[2] = v; break; case 3: a[3] = v; break;
    case 4: a[4] = v; break; case 5: a[5] = v; break; case 6: a[6] = v; break; case 7: a[7] = v; break;
    }
}
class Nearest {
public:
    __device__ Nearest(float* d, int* w) : dist(d), who(w), count(0) {}
    __device__ __forceinline__ void add(const float& x, const int& id) {
        if (count < 8) {
            set8(dist, count, x); set8(who, count, id);
            if (count == 0 || x > worst) { worst = x; at = count; }
            count++;
        } else if (x < worst) {
            set8(dist, at, x); set8(who, at, id);
            worst = x;
            for (int k = 0; k < 8; ++k) {
                float c = get8(dist, k);
                if (c > worst) { worst = c; at = k; }
            }
        }
    }
    __device__ __forceinline__ int size() { return count; }
private:
    float* dist; int* who; int count; float worst; int at;
};
extern "C" __global__ void ctl_bound_by_method(const float* in, const int* order, float* out, int n, unsigned m)
{
    float here[3], best[8];
    int who[8];
    for (long t = blockIdx.x * blockDim.x + threadIdx.x; t < 16384; t += gridDim.x * blockDim.x) {
    for (int d = 0; d < 3; ++d) here[d] = in[t * 3 + d];
    Nearest set(best, who);
    for (int j = 0; j < n * 3; ++j) {
        float s = m;
        for (int d = 0; d < 3; ++d) { float x = here[d] - in[(j * 3 + d + t) & 0xfffff]; s += x * x; }
        set.add(s, j);
    }
    for (int k = 0; k < set.size(); ++k) {
        out[t * 16 + 2 * k] = who[k];
        out[t * 16 + 2 * k + 1] = best[k];
    }
}
}
