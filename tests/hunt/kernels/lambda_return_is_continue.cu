// launch: n = 0, 1, 5, 12; m = 0, 3
// `return` in the body of the lambda leaves only one round
extern "C" __global__ void lambda_return_is_continue(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    auto each = [n](auto&& f) { for (int i = 0; i < n; ++i) if (!f(i)) break; };
    each([&](int i) { if (in[t * 12 + i] < -0.5f) return true; a[order[t + i] % 12] += in[t * 12 + i]; return true; });
    float s = 0.0f;
    int seen = 0;
    each([&](int i) { ++seen; if (a[n - 1 - i] > 0.8f) return false; s = s * 0.5f + a[n - 1 - i]; return true; });
    out[t] = s + 8.0f * seen;
}
