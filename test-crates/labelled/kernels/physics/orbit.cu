// Trajectories: integrators and the trigonometry around them.
#include <cmath>

using real = double;

struct Elements {
    real semi_major, eccentricity, inclination, node, perigee, mean_anomaly;
};

// Position of a satellite from its elements.
__global__ void positions(const Elements *elements, double3 *position, int n) //@ object -: slow_path_math
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Elements orbit = elements[i];
    real anomaly = orbit.mean_anomaly;
    for (int k = 0; k < 6; ++k)
        anomaly -= (anomaly - orbit.eccentricity * sin(anomaly) - orbit.mean_anomaly) / (1 - orbit.eccentricity * cos(anomaly)); //@ access -
    const real x = orbit.semi_major * (cos(anomaly) - orbit.eccentricity); //@ access -
    const real y = orbit.semi_major * sqrt(1 - orbit.eccentricity * orbit.eccentricity) * sin(anomaly); //@ access -
    const real c = cos(orbit.inclination); //@ access -
    position[i] = make_double3(x, y * c, y * (1 - c));
}

// Angles as multiples of pi need no argument reduction.
__global__ void ground_tracks(const Elements *elements, double2 *track, int n, double hours) //@ clean
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double s, c;
    sincospi(elements[i].mean_anomaly + hours / 12.0, &s, &c);
    track[i] = make_double2(atan2(s * elements[i].inclination, c), asin(s));
}

// Adams-Bashforth: the history rotates.
__global__ void adams_bashforth(const double *acceleration, double *speed, int n, int steps, double dt)
{
    double history[6]; //@ object history: rolled_loop | dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = speed[i];
#pragma unroll
    for (int k = 0; k < 6; ++k) history[k] = acceleration[k * n + i];
    int newest = 5;
#pragma unroll 1
    for (int step = 6; step < steps; ++step)
    {
        newest = newest == 5 ? 0 : newest + 1;
        history[newest] = acceleration[step * n + i] - 0.01 * v; //@ access history
        const int previous = (newest + 5) % 6, before = (newest + 4) % 6;
        v += dt * (23.0 * history[newest] - 16.0 * history[previous] + 5.0 * history[before]) / 12.0; //@ access history
    }
    speed[i] = v;
}

// A Runge-Kutta scheme from its tableau; stages are few but the loop over them stays.
__global__ void runge_kutta_tableau(double *state, int n, int steps, double dt, int stages)
{
    const double tableau[4][4] = {{0.0, 0.0, 0.0, 0.0}, //@ object tableau: constant_table
                                  {0.5, 0.0, 0.0, 0.0},
                                  {0.0, 0.5, 0.0, 0.0},
                                  {0.0, 0.0, 1.0, 0.0}};
    const double share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}; //@ object share: constant_table
    double slope[4]; //@ object slope: rolled_loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double y = state[i];
    for (int step = 0; step < steps; ++step)
    {
        double next = y;
#pragma unroll 1
        for (int s = 0; s < stages; ++s)
        {
            double at = y;
#pragma unroll 1
            for (int r = 0; r < s; ++r)
                at += dt * tableau[s][r] * slope[r]; //@ access tableau //@ access slope
            slope[s] = at * (1.0 - at); //@ access slope
            next += dt * share[s] * slope[s]; //@ access share //@ access slope
        }
        y = next;
    }
    state[i] = y;
}

// The same tableau with constant bounds everywhere: it dissolves into the code.
__global__ void runge_kutta_unrolled(double *state, int n, int steps, double dt) //@ clean
{
    const double tableau[4][4] = {{0.0, 0.0, 0.0, 0.0}, {0.5, 0.0, 0.0, 0.0}, {0.0, 0.5, 0.0, 0.0}, {0.0, 0.0, 1.0, 0.0}};
    const double share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    double slope[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double y = state[i];
    for (int step = 0; step < steps; ++step)
    {
        double next = y;
#pragma unroll
        for (int s = 0; s < 4; ++s)
        {
            double at = y;
#pragma unroll
            for (int r = 0; r < s; ++r) at += dt * tableau[s][r] * slope[r];
            slope[s] = at * (1.0 - at);
            next += dt * share[s] * slope[s];
        }
        y = next;
    }
    state[i] = y;
}

// Tides: a tangent and a Bessel function, each with a reduction of its own, beside an array of ours.
__global__ void tidal_constituents(const double *phase, const int *species, double *height, int n, int constituents) //@ object -: slow_path_math
{
    double by_species[9]; //@ object by_species: dynamic_index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int s = 0; s < 9; ++s) by_species[s] = 0.0;
    for (int c = 0; c < constituents; ++c)
    {
        const double p = phase[c * n + i];
        by_species[species[c * n + i]] += tan(p) * j1(p); //@ access by_species //@ access -
    }
    double sum = 0.0;
    for (int s = 0; s < 9; ++s) sum += by_species[s] * (s + 1);
    height[i] = sum;
}

// Single precision: `sincosf` of any argument.
__global__ void dihedral_energies(const float4 *atoms, float *energy, int n, float barrier) //@ clean
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    float s, c;
    sincosf(atoms[i].x * 1e4f + atoms[i + 1].y, &s, &c);
    energy[i] = barrier * (1.0f + c * c - s * atoms[i].w);
}

// A spectrum of angles, accumulated with `sincos`.
__global__ void structure_factor(const double3 *atom, const double3 *wave, double2 *factor, int atoms, int waves) //@ object -: slow_path_math
{
    const int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= waves)
        return;
    const double3 k = wave[w];
    double re = 0, im = 0;
    for (int a = 0; a < atoms; ++a)
    {
        double s, c;
        sincos(k.x * atom[a].x + k.y * atom[a].y + k.z * atom[a].z, &s, &c); //@ access -
        re += c;
        im -= s;
    }
    factor[w] = make_double2(re, im);
}
