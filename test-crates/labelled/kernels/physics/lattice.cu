// Lattice Boltzmann and spin models.

namespace lattice {

template <int Q>
struct Stencil;

template <>
struct Stencil<9> {
    static constexpr int count = 9;
};

struct Cell {
    float f[9];
    float rho, ux, uy;
};

// D2Q9 with loops that unroll: directions dissolve.
__global__ void collide_stream(const float* __restrict__ f_in, float* __restrict__ f_out, int width, int height, float omega) //@ clean
{
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float weight[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    const int plane = width * height;
    Cell cell;
    cell.rho = cell.ux = cell.uy = 0.f;
#pragma unroll
    for (int q = 0; q < 9; ++q) {
        cell.f[q] = f_in[q * plane + y * width + x];
        cell.rho += cell.f[q];
        cell.ux += cx[q] * cell.f[q];
        cell.uy += cy[q] * cell.f[q];
    }
#pragma unroll
    for (int q = 0; q < 9; ++q) {
        const float cu = (cx[q] * cell.ux + cy[q] * cell.uy) / cell.rho;
        const float equilibrium = weight[q] * cell.rho * (1.f + 3.f * cu + 4.5f * cu * cu);
        const int tx = (x + cx[q] + width) % width, ty = (y + cy[q] + height) % height;
        f_out[q * plane + ty * width + tx] = cell.f[q] - omega * (cell.f[q] - equilibrium);
    }
}

// The same where somebody saved code: populations and weights in local memory.
__global__ void collide_rolled(const float* __restrict__ f_in, float* __restrict__ f_out, int width, int height, float omega)
{
    const float weight[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36}; //@ object weight: constant_table
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    const int plane = width * height;
    Cell cell; //@ object cell|cell.f: rolled_loop
    cell.rho = cell.ux = 0.f;
#pragma unroll 1
    for (int q = 0; q < 9; ++q) {
        cell.f[q] = f_in[q * plane + y * width + x]; //@ access cell
        cell.rho += cell.f[q]; //@ access cell
        cell.ux += (q & 3) * cell.f[q]; //@ access cell
    }
#pragma unroll 1
    for (int q = 0; q < 9; ++q) {
        const float equilibrium = weight[q] * cell.rho * (1.f + 3.f * cell.ux); //@ access weight
        f_out[q * plane + y * width + x] = cell.f[q] - omega * (cell.f[q] - equilibrium); //@ access cell
    }
}

// Metropolis: the five possible energies have five probabilities, made by the thread.
__global__ void metropolis(signed char* spins, const float* __restrict__ uniform, int width, int height, float beta, int parity) //@ clean
{
    float accept[5];
    const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + parity;
#pragma unroll
    for (int e = 0; e < 5; ++e) accept[e] = __expf(-2.f * beta * (2 * e - 4));
    if (x <= 0 || x >= width - 1) return;
    for (int y = 1; y < height - 1; ++y) {
        const int at = y * width + x;
        const int field = spins[at - 1] + spins[at + 1] + spins[at - width] + spins[at + width];
        const int index = (spins[at] * field + 4) / 2;
        if (uniform[at] < accept[index]) spins[at] = -spins[at];
    }
}

// Potts model: counts of the neighbours' states, then a choice.
template <int States>
__global__ void potts_heat_bath(unsigned char* state, const float* __restrict__ uniform, int n, int degree, const int* __restrict__ neighbour)
{
    const int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= n) return;
    unsigned char occupation[States]; //@ object occupation: dynamic_index
#pragma unroll
    for (int s = 0; s < States; ++s) occupation[s] = 0;
    for (int e = 0; e < degree; ++e) occupation[state[neighbour[e * n + site]]]++; //@ access occupation
    float total = 0.f;
#pragma unroll
    for (int s = 0; s < States; ++s) total += __expf(0.4f * occupation[s]);
    float rest = uniform[site] * total;
    int chosen = 0;
#pragma unroll
    for (int s = 0; s < States; ++s) {
        if (rest > 0.f) chosen = s;
        rest -= __expf(0.4f * occupation[s]);
    }
    state[site] = (unsigned char)chosen;
}

template __global__ void potts_heat_bath<12>(unsigned char*, const float*, int, int, const int*);
template __global__ void potts_heat_bath<24>(unsigned char*, const float*, int, int, const int*);

// A plane of the lattice for each thread: too much for anybody's registers, whatever the indices are.
__global__ void relax_plane(float* __restrict__ field, int planes, int sweeps) //@ spills sm_120
{
    float plane[24][24]; //@ object plane: large_array
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= planes) return;
    for (int y = 0; y < 24; ++y)
        for (int x = 0; x < 24; ++x) plane[y][x] = field[(y * 24 + x) * planes + p]; //@ access plane
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (int y = 1; y < 23; ++y)
            for (int x = 1; x < 23; ++x)
                plane[y][x] = 0.25f * (plane[y - 1][x] + plane[y + 1][x] + plane[y][x - 1] + plane[y][x + 1]); //@ access plane
    for (int y = 0; y < 24; ++y)
        for (int x = 0; x < 24; ++x) field[(y * 24 + x) * planes + p] = plane[y][x]; //@ access plane
}

} // namespace lattice
