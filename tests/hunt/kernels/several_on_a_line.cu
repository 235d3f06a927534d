// launch: n = 0, 1, 9; m = 0, 3
// statements that share lines with others, with the end of their block, and with a comment
extern "C" __global__ void several_on_a_line(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float best[6] = {9, 8, 7, 6, 5, 4}; int from[6] = {};
    for (int i = 0; i < n; ++i) {
        const int k = (order[t * 9 + i] & 0x7fffffff) % 6; float d = in[t * 9 + i]; if (i & 1) d *= 2.0f;
        if (d < best[k]) { d += 1.0f; best[k] = d; from[k] = i; } else { from[k] -= 1; best[k] *= 0.5f; } /* both */ if (m) d = 0.0f;
        for (int j = 0; j < 2; ++j) { best[(k + j) % 6] += d; d *= 0.25f; }
    }
    float sum = 0.0f;
    for (int i = 0; i < 6; ++i) { sum = sum * 0.5f + best[i]; sum += from[i]; }
    out[t] = sum;
}
