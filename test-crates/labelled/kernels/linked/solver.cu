// Compiled with `-rdc=true` (see `Cargo.toml`): the model is linked in later.

struct Parameters {
    double rate[4];
    double temperature;
};

extern __device__ void right_hand_side(const Parameters *parameters, const double *state, double *slope);

// One step of Euler; everything that the model sees has an address.
__global__ void euler_step(const Parameters *all, double *states, double dt, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double state[4]; //@ object state: address_escape
    double slope[4]; //@ object slope: address_escape
#pragma unroll
    for (int k = 0; k < 4; ++k) state[k] = states[k * n + i];
    right_hand_side(all + i, state, slope); //@ access state //@ access slope
#pragma unroll
    for (int k = 0; k < 4; ++k) states[k * n + i] = state[k] + dt * slope[k];
}

extern __device__ double reaction_rate(double temperature, double energy);

// Values go in and out: only what is alive across the calls is saved.
__global__ void reaction_rates(const Parameters *all, double *rates, int n) //@ clean
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Parameters p = all[i];
    double total = 0.0;
#pragma unroll
    for (int k = 0; k < 4; ++k) total += reaction_rate(p.temperature, p.rate[k]);
    rates[i] = total;
}
