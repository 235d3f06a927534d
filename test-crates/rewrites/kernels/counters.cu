// Elements that are counted where they are used, and indices that count.

extern "C" __global__ void places(const int *group, int *out, int n) {
    int next[12]; //~ dynamic_index
    for (int g = 0; g < 12; ++g) next[g] = 5 * g;
    for (int k = 0; k < n; ++k) {
        const int place = next[group[k * 256 + threadIdx.x]]++;
        out[place * 256 + threadIdx.x] = k;
    }
}

extern "C" __global__ void stack(const float *in, float *out, int n) {
    float stack[8]; //~ dynamic_index
    int top = 0;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        const float value = in[k * 256 + threadIdx.x];
        if (top < 8 && value > 0.0f) stack[top++] = value;
        else if (top > 0) sum = 0.5f * sum + stack[--top];
    }
    out[threadIdx.x] = sum;
}
