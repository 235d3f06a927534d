// Quadrature, splines, interpolation: coefficients that somebody wrote down.

namespace {

// Nodes and weights of Gauss-Legendre, up to eight points; the order comes from the element.
__device__ double integrate(const double *f, int order, double a, double b)
{
    const double node[4][4] = {{0.5773502691896257, 0.0, 0.0, 0.0}, //@ object node: constant_table in element_integrals
                               {0.3399810435848563, 0.8611363115940526, 0.0, 0.0},
                               {0.2386191860831969, 0.6612093864662645, 0.9324695142031521, 0.0},
                               {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363}};
    const double weight[4][4] = {{1.0, 0.0, 0.0, 0.0}, //@ object weight: constant_table in element_integrals
                                 {0.6521451548625461, 0.3478548451374538, 0.0, 0.0},
                                 {0.4679139345726910, 0.3607615730481386, 0.1713244923791704, 0.0},
                                 {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763}};
    double sum = 0.0;
    for (int k = 0; k <= order; ++k) {
        const double x = 0.5 * (b - a) * node[order][k] + 0.5 * (a + b); //@ access node in element_integrals
        sum += weight[order][k] * (f[0] + x * (f[1] + x * f[2])); //@ access weight in element_integrals
    }
    return 0.5 * (b - a) * sum;
}

} // namespace

__global__ void element_integrals(const double *coefficients, const int *order, double *integral, int elements)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < elements) integral[e] = integrate(coefficients + 3 * e, order[e] & 3, e, e + 1.0);
}

// Corners of a cube and the edges between them, as for marching cubes.
__global__ void edge_crossings(const float *field, const int *edges, float4 *vertex, int cells, int pitch, float level)
{
    const int3 corner[8] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}}; //@ object corner: constant_table
    const signed char ends[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}; //@ object ends: constant_table
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    for (int k = 0; k < 3; ++k) {
        const int edge = edges[3 * cell + k];
        if (edge < 0) break;
        const int a = ends[edge][0], b = ends[edge][1]; //@ access ends
        const int3 p = corner[a], q = corner[b]; //@ access corner
        const float fa = field[cell + (p.z * pitch + p.y) * pitch + p.x], fb = field[cell + (q.z * pitch + q.y) * pitch + q.x];
        const float t = (level - fa) / (fb - fa);
        vertex[3 * cell + k] = make_float4(p.x + t * (q.x - p.x), p.y + t * (q.y - p.y), p.z + t * (q.z - p.z), 1.0f);
    }
}

// Binomial coefficients: a local array that a loop fills, and a table that it is filled from.
__global__ void bezier_points(const float2 *control, const float *parameter, float2 *point, int curves, int degree)
{
    static const float factorial[9] = {1, 1, 2, 6, 24, 120, 720, 5040, 40320};
    float basis[9]; //@ object basis: rolled_loop
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= curves) return;
    const float t = parameter[c];
    float power = 1.0f;
    for (int k = 0; k <= degree; ++k) {
        basis[k] = power * factorial[degree] / (factorial[k] * factorial[degree - k]); //@ access basis
        power *= t;
    }
    power = 1.0f;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int k = degree; k >= 0; --k) {
        sum.x += basis[k] * power * control[k * curves + c].x; //@ access basis
        sum.y += basis[k] * power * control[k * curves + c].y; //@ access basis
        power *= 1.0f - t;
    }
    point[c] = sum;
}

// Catmull-Rom: a matrix of constants with all indices unrolled.
__global__ void spline_points(const float *control, const float *parameter, float *point, int curves) //@ clean
{
    const float matrix[4][4] = {{0.0f, 1.0f, 0.0f, 0.0f}, {-0.5f, 0.0f, 0.5f, 0.0f}, {1.0f, -2.5f, 2.0f, -0.5f}, {-0.5f, 1.5f, -1.5f, 0.5f}};
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= curves) return;
    float t[4] = {1.0f, parameter[c], 0.0f, 0.0f};
    t[2] = t[1] * t[1];
    t[3] = t[2] * t[1];
    float sum = 0.0f;
    for (int r = 0; r < 4; ++r)
        for (int k = 0; k < 4; ++k) sum += t[r] * matrix[r][k] * control[k * curves + c];
    point[c] = sum;
}
