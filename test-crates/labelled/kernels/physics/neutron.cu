// Transport of neutrons, and other codes with much state.

struct Reaction {
    double threshold;
    double q_value;
};

struct Library {
    Reaction reaction[16];
    const double *grid[8];
    int nuclides;
    int padding;
};

// The library is a parameter; somebody keeps a running copy of it.
__global__ void depletion(Library library, const int *channel, double *energy, int n, int steps) //@ object library|library.reaction: param_copy
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double deposited = 0.0;
    for (int s = 0; s < steps; ++s) {
        Reaction &r = library.reaction[channel[s * n + i] & 15];
        r.q_value *= 0.999; //@ access library
        deposited += r.q_value - r.threshold; //@ access library
    }
    energy[i] = deposited;
}

__device__ __noinline__ void scatter(double *mu, double *phi, unsigned long long *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    *mu = 2.0 * ((*seed >> 11) * 0x1p-53) - 1.0;
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    *phi = 2.0 * ((*seed >> 11) * 0x1p-53);
}

// Results come back through pointers; the seed goes in and out.
__global__ void walk_lengths(unsigned long long *seeds, double *length, int n, int collisions)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long seed = seeds[i]; //@ object seed: address_escape
    double mu; //@ object mu: address_escape
    double phi; //@ object phi: address_escape
    double z = 0.0, x = 0.0;
    for (int c = 0; c < collisions; ++c) {
        scatter(&mu, &phi, &seed); //@ access seed //@ access mu //@ access phi
        z += mu;
        x += (1.0 - mu * mu) * cospi(phi);
    }
    seeds[i] = seed;
    length[i] = x * x + z * z;
}

// A response matrix for each thread: 6 KB, walked by counters.
__global__ void response_matrices(const float *source, float *flux, int cells, int iterations)
{
    float response[1536]; //@ object response: large_array
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
#pragma unroll 8
    for (int k = 0; k < 1536; ++k) response[k] = source[k * cells + cell]; //@ access response
    for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll 4
        for (int k = 1; k < 1535; ++k) response[k] = 0.25f * response[k - 1] + 0.5f * response[k] + 0.25f * response[k + 1]; //@ access response
    float total = 0.0f;
    for (int k = 0; k < 1536; ++k) total += response[k]; //@ access response
    flux[cell] = total;
}

// Angles of the quadrature, reduced in double.
__global__ void quadrature_angles(const double *position, double *projected, int points, double pitch) //@ object -: slow_path_math
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) projected[i] = position[i] * tan(position[i] * pitch); //@ access -
}

// Groups of energy: a downscatter loop whose bounds shrink; one of the two arrays is walked by constants only.
__global__ void downscatter(const float *sigma, const float *source, float *flux, int zones, int groups)
{
    const int zone = blockIdx.x * blockDim.x + threadIdx.x;
    if (zone >= zones) return;
    float phi[32]; //@ object phi: rolled_loop
    float edge[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) edge[e] = source[e * zones + zone];
    for (int g = 0; g < groups; ++g) {
        float in = source[(4 + g) * zones + zone] + edge[0] * edge[3];
        for (int from = 0; from < g; ++from) in += sigma[from * groups + g] * phi[from]; //@ access phi
        phi[g] = in / sigma[g * groups + g]; //@ access phi
        edge[0] = edge[1] * 0.5f, edge[1] = edge[2], edge[2] = edge[3], edge[3] = phi[g]; //@ access phi
    }
    for (int g = 0; g < groups; ++g) flux[g * zones + zone] = phi[g]; //@ access phi
}
