// Statements on one element, which has a name.

struct Group {
    float sum, most;
    int count;
};

extern "C" __global__ void groups(const float *in, const int *group, float *out, int n) {
    Group all[12]; //~ dynamic_index
    for (int g = 0; g < 12; ++g) all[g] = Group{0.0f, -1e30f, 0};
    for (int i = 0; i < n; ++i) {
        Group &one = all[group[i * 32 + threadIdx.x] % 12];
        const float value = in[i * 32 + threadIdx.x];
        one.sum += value;
        one.most = fmaxf(one.most, value);
        one.count++;
    }
    for (int g = 0; g < 12; ++g) {
        float *to = out + (g * 32 + threadIdx.x) * 3;
        to[0] = all[g].sum;
        to[1] = all[g].most;
        to[2] = all[g].count;
    }
}

// One of the statements begins the next round.
extern "C" __global__ void skipped(const float *in, const int *group, float *out, int n) {
    Group all[12]; //~ dynamic_index
    for (int g = 0; g < 12; ++g) all[g] = Group{0.0f, -1e30f, 0};
    for (int i = 0; i < n; ++i) {
        Group *one = &all[group[i * 32 + threadIdx.x] % 12];
        if (in[i * 32 + threadIdx.x] < one->most) continue;
        one->most = in[i * 32 + threadIdx.x];
        one->count++;
    }
    for (int g = 0; g < 12; ++g) {
        float *to = out + (g * 32 + threadIdx.x) * 3;
        to[0] = all[g].sum;
        to[1] = all[g].most;
        to[2] = all[g].count;
    }
}
