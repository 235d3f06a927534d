// launch: n = 0, 5, 40; m = 0, 3
// the number of flags is a macro of the file under no condition
#define SLOTS 32
extern "C" __global__ void ctl_flags_of_a_macro(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool taken[SLOTS] = {};
    unsigned found = 0, state = t + m;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        const unsigned slot = (state >> 9) % SLOTS;
        if (!taken[slot]) { taken[slot] = true; found += slot; }
        else if (state & 4096u) taken[slot] = false;
    }
    out[2 * t] = (float)found;
    out[2 * t + 1] = (float)(state & 1023u);
}
