// Statistics of streams, one stream for each thread.

namespace stats
{

// Sums that must not be reassociated.
__global__ void compensated_mean(const float *x, float *mean, int n, int streams)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams)
        return;
    volatile float compensation = 0.0f; //@ object compensation: volatile_local
    float sum = 0.0f;
    for (int i = 0; i < n; ++i)
    {
        const float y = x[i * streams + s] - compensation; //@ access compensation
        const float t = sum + y;
        compensation = (t - sum) - y; //@ access compensation
        sum = t;
    }
    mean[s] = sum / n;
}

// The pointer is volatile, where what it points to was meant.
__global__ void poll_flags(float *volatile values, int *flags, float *out, int n) //@ object values: volatile_local
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float *volatile cursor = values + i; //@ object cursor: volatile_local //@ access values
    float total = 0.0f;
    while (atomicAdd(&flags[i], 0) != 0)
    {
        total += *cursor; //@ access cursor
        cursor = cursor + 32; //@ access cursor
        atomicSub(&flags[i], 1);
    }
    out[i] = total;
}

// Volatile in shared memory is another matter.
__global__ void warp_sums(const float *x, float *sum, int n) //@ clean
{
    __shared__ volatile float scratch[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    scratch[threadIdx.x] = i < n ? x[i] : 0.0f;
    if ((threadIdx.x & 31) < 16)
    {
        for (int d = 16; d > 0; d >>= 1)
        {
            scratch[threadIdx.x] = scratch[threadIdx.x] + scratch[threadIdx.x + d];
            __syncwarp(0xffff);
        }
    }
    if ((threadIdx.x & 31) == 0)
        sum[i / 32] = scratch[threadIdx.x];
}

// An array that somebody marked to see it in a debugger.
__global__ void central_moments(const double *x, double *moments, int n, int streams)
{
    volatile double m[5] = {0, 0, 0, 0, 0}; //@ object m: volatile_local
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams)
        return;
    for (int i = 0; i < n; ++i)
    {
        const double value = x[i * streams + s];
        double power = 1.0;
        for (int k = 0; k < 5; ++k)
        {
            m[k] = m[k] + power; //@ access m
            power *= value;
        }
    }
    for (int k = 0; k < 5; ++k)
        moments[k * streams + s] = m[k]; //@ access m
}

// P-square markers: the cell of the new value decides which of them move.
__global__ void p_square(const float *x, float *quantile, int n, int streams) //@ clean
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams)
        return;
    float height[5];
    int position[5];
#pragma unroll
    for (int k = 0; k < 5; ++k)
    {
        height[k] = x[k * streams + s];
        position[k] = k + 1;
    }
    for (int i = 5; i < n; ++i)
    {
        const float value = x[i * streams + s];
        int cell = 0;
#pragma unroll 1
        while (cell < 3 && value >= height[cell + 1])
            ++cell;
#pragma unroll 1
        for (int k = cell + 1; k < 5; ++k)
            ++position[k];
#pragma unroll 1
        for (int k = 1; k < 4; ++k)
        {
            const float wanted = 1.0f + 0.25f * k * i;
            if (wanted - position[k] >= 1.0f && position[k + 1] - position[k] > 1)
            {
                height[k] += (height[k + 1] - height[k]) / (position[k + 1] - position[k]);
                ++position[k];
            }
        }
    }
    quantile[s] = height[2];
}

// Moving median of 11: the leaver is searched, the newcomer inserted.
__global__ void moving_median(const float *x, float *median, int n, int streams)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams)
        return;
    float sorted[11]; //@ object sorted: rolled_loop | dynamic_index
    for (int k = 0; k < 11; ++k)
        sorted[k] = 0.0f;
    for (int i = 11; i < n; ++i)
    {
        const float leaver = x[(i - 11) * streams + s], newcomer = x[i * streams + s];
        int at = 0;
        while (at < 10 && sorted[at] != leaver)
            ++at;
        for (; at < 10 && sorted[at + 1] < newcomer; ++at) //@ access sorted
            sorted[at] = sorted[at + 1]; //@ access sorted
        for (; at > 0 && sorted[at - 1] > newcomer; --at) //@ access sorted
            sorted[at] = sorted[at - 1]; //@ access sorted
        sorted[at] = newcomer; //@ access sorted
        median[i * streams + s] = sorted[5];
    }
}

// Two phases with an array each; neither lives while the other does.
__global__ void two_phase_histogram(const unsigned char *coarse, const unsigned char *fine, int *out, int n, int streams)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams)
        return;
    int peak = 0;
    {
        int first[16] = {}; //@ object first: dynamic_index
        for (int i = 0; i < n; ++i)
            ++first[coarse[i * streams + s] & 15]; //@ access first
#pragma unroll
        for (int b = 0; b < 16; ++b)
            peak = max(peak, first[b] << 4 | b);
    }
    {
        int second[16] = {}; //@ object second: dynamic_index
        for (int i = 0; i < n; ++i)
            second[fine[i * streams + s] & 15] += peak & 15; //@ access second
#pragma unroll
        for (int b = 0; b < 16; ++b)
            out[b * streams + s] = second[b];
    }
}

// Autocorrelation up to the lag the host asks for.
__global__ void autocorrelation(const float *x, float *r, int n, int streams, int max_lag)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams)
        return;
    double sum[33]; //@ object sum: rolled_loop
    for (int lag = 0; lag <= max_lag; ++lag)
        sum[lag] = 0.0; //@ access sum
    for (int i = 0; i + max_lag < n; ++i)
    {
        const float here = x[i * streams + s];
        for (int lag = 0; lag <= max_lag; ++lag)
            sum[lag] += here * x[(i + lag) * streams + s]; //@ access sum
    }
    for (int lag = 0; lag <= max_lag; ++lag)
        r[lag * streams + s] = static_cast<float>(sum[lag] / sum[0]); //@ access sum
}

} // namespace stats
