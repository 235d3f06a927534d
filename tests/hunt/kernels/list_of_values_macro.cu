// launch: n = 0, 5; m = 0, 3
// a macro gives a list its values, of which one is a variable that is written later
#define LIST(X) X(3) X(first) X(n) X(7)
extern "C" __global__ void list_of_values_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int first = order[t] & 3;
    const int table[] = {
#define X(v) v,
        LIST(X)
#undef X
    };
    float a[6];
    for (int i = 0; i < n; ++i) a[i] = in[t * 6 + i];
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i] + table[(i + m) & 3];
    first += n;
    out[t] = s + first;
}
