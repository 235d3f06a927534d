// launch: n = 0, 1, 5, 12; m = 0, 3
// control
extern "C" __global__ void ctl_long_names(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float values_of_this_thread[12];
    for (int value_index = 0; value_index < n; ++value_index)
    {
        values_of_this_thread[value_index] = in[t * 12 + value_index];
    }
    float weighted_sum_of_values = 0.0f;
    for (int value_index = 0; value_index < n; ++value_index)
    {
        weighted_sum_of_values =
            weighted_sum_of_values * 0.5f +
            values_of_this_thread[n - 1 - value_index];
    }
    out[t] = weighted_sum_of_values;
}
