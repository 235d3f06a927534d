// launch: n = 0, 1, 5; m = 0, 3
// the bound lies in constant memory, in a plan that a reference chooses
struct Plan_cm { int taps; float weight[8]; };
__constant__ Plan_cm plans_cm[2] = {{5, {1.0f, 0.5f, 0.25f}}, {8, {0.5f, 2.0f, 1.0f, 1.0f}}};
extern "C" __global__ void ctl_bound_in_constant_memory(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const Plan_cm& plan = plans_cm[(t + n) & 1];
    float window[8];
    for (int k = 0; k < plan.taps; ++k) window[k] = in[t + k * 3] * plan.weight[k];
    float sum = 0.0f;
    for (int k = 0; k < plan.taps; ++k) sum = sum * 0.5f + window[k] * (m + 1);
    out[t] = sum;
}
