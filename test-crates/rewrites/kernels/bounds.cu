// Loops up to a bound that only the launch knows, and what shows that it is not beyond the array.

// The counter is used behind the loop.
extern "C" __global__ void search(const int *keys, const int *asked, int *out, int n) {
    int slot[12]; //~ rolled_loop
    for (int i = 0; i < n; ++i) slot[i] = keys[i * 256 + threadIdx.x];
    for (int r = 0; r < 64; ++r) {
        const int key = asked[r * 256 + threadIdx.x];
        int i;
        for (i = 0; i < n; ++i)
            if (slot[i] == key) break;
        out[r * 256 + threadIdx.x] = i < n ? i : -1;
    }
}

// A triangle with a run-time side.
extern "C" __global__ void eliminate(const float *in, float *out, int n) {
    float a[5][5]; //~ rolled_loop
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a[i][j] = in[(i * 5 + j) * 256 + threadIdx.x];
    for (int j = 0; j < n; ++j) {
        for (int i = j + 1; i < n; ++i) {
            a[i][j] = __fdividef(a[i][j], a[j][j]);
            for (int k = j + 1; k < n; ++k) a[i][k] = __fmaf_rn(-a[i][j], a[j][k], a[i][k]);
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) out[(i * 5 + j) * 256 + threadIdx.x] = a[i][j];
}

// The kernel returns for larger bounds, and not each round accesses its element.
extern "C" __global__ void positive(const float *in, float *out, int count, int n) {
    if (n > 32) return;
    float sum[32]; //~ rolled_loop
    float last = 0.0f;
    for (int i = 0; i < 32; ++i) sum[i] = in[i];
    for (int r = 0; r < count; ++r)
        for (int i = 0; i < n; ++i) {
            const float x = in[(r * n + i) * 256 + threadIdx.x];
            if (x > 0.0f) sum[i] += x;
            last = 0.5f * last + x;
        }
    for (int i = 0; i < n; ++i) out[i * 256 + threadIdx.x] = i & 1 ? last : sum[i];
}

// Without the return, rounds beyond the array may compute something.
extern "C" __global__ void any(const float *in, float *out, int count, int n) {
    float sum[32]; //~ rolled_loop
    float last = 0.0f;
    for (int i = 0; i < 32; ++i) sum[i] = in[i];
    for (int r = 0; r < count; ++r)
        for (int i = 0; i < n; ++i) {
            const float x = in[(r * n + i) * 256 + threadIdx.x];
            if (x > 0.0f) sum[i] += x;
            last = 0.5f * last + x;
        }
    for (int i = 0; i < n; ++i) out[i * 256 + threadIdx.x] = i & 1 ? last : sum[i];
}

// A row that is kept between two passes: the counter steps with each round.
extern "C" __global__ void normalize(const float *in, float *out, int n) {
    float row[12]; //~ rolled_loop
    int kept = 0;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) {
        row[kept] = in[i];
        sum += row[kept++];
    }
    const float mean = sum / n;
    for (int k = 0; k < kept; ++k) out[k * 32 + threadIdx.x] = row[k] - mean;
}

// Not each round keeps a value.
extern "C" __global__ void positive_ones(const float *in, float *out, int n) {
    float row[12]; //~ dynamic_index
    int kept = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        if (in[i] > 0.0f) row[kept++] = in[i];
    for (int k = 0; k < kept; ++k) out[k * 32 + threadIdx.x] = row[k] + kept;
}
