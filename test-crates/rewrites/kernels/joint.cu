// Variables that leave local memory only together.

#define STEPS 8

// One index reaches all: a select of one array leaves the others.
extern "C" __global__ void voxels(const float *start, const unsigned char *grid, float *out, int n) {
    int cell[3] = {1, 2, 3}, stride[3]; //~ dynamic_index //~ dynamic_index
    float next[3], width[3]; //~ dynamic_index //~ dynamic_index
    for (int a = 0; a < 3; ++a) {
        stride[a] = start[threadIdx.x * 3 + a] < 0.0f ? -1 : 1;
        width[a] = fabsf(start[a]) + 1.0f;
        next[a] = start[threadIdx.x + a];
    }
    int found = -1;
    for (int round = 0; round < n; ++round) {
        const int place = (cell[2] * 4 + cell[1]) * 4 + cell[0];
        if (grid[place & 63]) {
            found = place;
            break;
        }
        const int axis = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
        cell[axis] += stride[axis];
        if (static_cast<unsigned>(cell[axis]) >= 4u) break;
        next[axis] += width[axis];
    }
    out[threadIdx.x] = found + next[0];
}

// Rows of one declaration that a function walks.
__device__ void slope(const float *state, float *rate, int count) {
    for (int e = 0; e < count; ++e) rate[e] = state[count - 1 - e] - state[e];
}

__global__ static void __launch_bounds__(64) integrate(const float *in, float *out, int count, int rounds) {
    float state[STEPS], rate[STEPS]; //~ dynamic_index //~ dynamic_index
    for (int e = 0; e < count; ++e) state[e] = in[e * 64 + threadIdx.x];
    for (int round = 0; round < rounds; ++round) {
        slope(state, rate, count);
        for (int e = 0; e < count; ++e) state[e] += 0.5f * rate[e];
    }
    for (int e = 0; e < count; ++e) out[e * 64 + threadIdx.x] = state[e] + rate[count - 1 - e];
}

void launch(const float *in, float *out, int count) { integrate<<<1, 64>>>(in, out, count, 100); }
