// Blocks as large as the launch bounds allow.

constexpr int kThreads = 128;

struct Neighbour {
    float distance;
    int point;
};

// Counters in each thread.
extern "C" __global__ void __launch_bounds__(256) count_levels(const unsigned char *image, unsigned *levels, int n) {
    unsigned count[16] = {0}; //~ dynamic_index
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        ++count[image[i] >> 4];
    }
    for (int level = 0; level < 16; ++level) atomicAdd(&levels[level], count[level]);
}

// A heap of structures; the bound is a constant of the file.
__global__ void __launch_bounds__(kThreads, 2) nearest(const float3 *points, const float3 *queries, int *found, int n) {
    Neighbour heap[8], worst; //~ dynamic_index
    const int q = blockIdx.x * kThreads + threadIdx.x;
    const float3 query = queries[q];
    for (int k = 0; k < 8; ++k) heap[k] = {1e30f, -1};
    for (int p = 0; p < n; ++p) {
        const float x = points[p].x - query.x, y = points[p].y - query.y, z = points[p].z - query.z;
        worst = {x * x + y * y + z * z, p};
        if (worst.distance >= heap[0].distance) continue;
        int hole = 0;
        while (2 * hole + 1 < 8) { // sift down
            int child = 2 * hole + 1;
            if (child + 1 < 8 && heap[child + 1].distance > heap[child].distance) ++child;
            if (heap[child].distance <= worst.distance) break;
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = worst;
    }
    for (int k = 0; k < 8; ++k) found[q * 8 + k] = heap[k].point;
}

// A delay line for each of a template's types, in a block with two axes.
template <typename Sample, int Taps, int Rows>
__global__ void __launch_bounds__(32 * Rows) delay(const Sample *in, Sample *out, const int *lag, int steps) {
    Sample line[Taps]; //~ dynamic_index
    const int channel = (blockIdx.x * Rows + threadIdx.y) * 32 + threadIdx.x;
    const int channels = gridDim.x * Rows * 32;
    for (int tap = 0; tap < Taps; ++tap) line[tap] = Sample(0);
    for (int step = 0; step < steps; ++step) {
        line[step % Taps] = in[step * channels + channel];
        out[step * channels + channel] = line[(step + lag[channel]) % Taps];
    }
}

template __global__ void delay<float, 24, 4>(const float *, float *, const int *, int);
template __global__ void delay<short, 24, 8>(const short *, short *, const int *, int);

// A loop whose length is known at run time only, and a lambda that uses the kernel's array.
extern "C" __global__ void __launch_bounds__(128) smooth(const short *in, short *out, int n, int width) {
    short window[24]; //~ rolled_loop
    const int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = 0; k < width; ++k) window[k] = in[k * n + i];
    auto blend = [&](int k) { return static_cast<short>((window[k] + window[k + 1]) / 2); };
    for (int round = 0; round < 8; ++round) {
        for (int k = 0; k + 1 < width; ++k) window[k] = blend(k);
    }
    for (int k = 0; k < width; ++k) out[k * n + i] = window[k];
}
