// launch: n = 0, 1, 5, 12; m = 0, 3
// loops from labels, and a goto into the next round past the update
extern "C" __global__ void goto_loop(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12] = {};
    int i = 0, redo = 0;
head:
    if (i >= n) goto sum;
    a[i] = in[t * 12 + i];
    ++i;
    goto head;
sum:
    float s = 0.0f;
    for (i = 0; i < n; ++i) {
body:
        s = s * 0.5f + a[i];
        if (s > 0.7f && redo < 3) { ++redo; a[order[t + i] % n] = -a[i]; goto body; }
        if (s < -0.7f) goto next;
        s += 0.125f;
next:   ;
    }
    out[t] = s + 8.0f * redo;
}
