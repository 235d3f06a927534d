// launch: n = 0, 1, 5, 8; m = 0, 3, 5
// Behind the macro's name stands a reference to the bound of the loops.
typedef int& Count;
#define Number Count
extern "C" __global__ void type_named_by_a_macro_of_a_reference(const float* in, const int* order, float* out, int n, unsigned m) {
    float row[16];
    int limit = n;
    for (int j = 0; j < limit; ++j) row[j] = in[j];
    Number count = limit;
    float sum = 0;
    for (int j = 0; j < limit; ++j) { if (j == (int)m) count = n - 1; sum += row[j]; }
    out[threadIdx.x] = sum;
}
