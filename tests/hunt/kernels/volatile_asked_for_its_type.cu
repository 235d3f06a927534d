// launch: n = 1, 64; m = 0, 3
// The type of a `volatile` number chooses a specialization.
template <class T> struct Tag { static constexpr int value = 2; };
template <class T> struct Tag<volatile T> { static constexpr int value = 4; };
extern "C" __global__ void volatile_asked_for_its_type(const float* in, const int* order, float* out, int n, unsigned m) {
    int t = threadIdx.x;
    if (t >= n) return;
    volatile int v = m;
    using T = decltype(v);
    out[t] = v;
    if (m == 3) out[t] = Tag<T>::value;
}
