// launch: n = 0, 1, 5; m = 0, 3
// members of a class, written in a method
struct Hit { float d; int id; };
template <int N> struct Store {
    Hit all[N];
    __device__ void put(int at, float d, int id)
    {
        all[at].d = d;
        all[at].id += id;
    }
};
extern "C" __global__ void ctl_row_in_a_method(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Store<14> s;
    for (int k = 0; k < 14; ++k) { s.all[k].d = in[t + k]; s.all[k].id = k; }
    float sum = 0.0f;
    for (int x = 0; x < n * 3 + 5; ++x) {
        const int at = order[(t + x * 7) & 0xfffff] % 14;
        s.put(at, in[t + x], x);
    }
    for (int k = 0; k < 14; ++k) sum += s.all[k].d + s.all[k].id;
    out[t] = sum * 0.125f;
}
