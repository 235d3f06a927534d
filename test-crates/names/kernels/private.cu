// What is read from local memory and chooses an element: whether threads agree on it.
struct Order {
    int rank;
    int place[6];
    int length[6];
};

// Every thread has the same copy of the parameters.
__global__ void permuted(Order from, Order to, int *out, int total) { //~ param_copy //~ param_copy
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int at[6]; //~ dynamic_index
    int rest = i;
    for (int d = from.rank - 1; d >= 0; --d) {
        at[d] = rest % from.length[d];
        rest /= from.length[d];
    }
    int sum = 0;
    for (int d = 0; d < to.rank; ++d) sum += at[to.place[d]] * to.length[d];
    out[i] = sum;
}

// Each thread selects from numbers of its own: where it looks next depends on them.
__global__ void __launch_bounds__(128) selected(const float *in, float *out, int wanted) {
    float v[25]; //~ dynamic_index
    for (int k = 0; k < 25; ++k) v[k] = in[k * 128 + threadIdx.x];
    int low = 0, high = 24;
    while (low < high) {
        const float pivot = v[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) ++i;
            while (v[j] > pivot) --j;
            if (i <= j) {
                const float t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (wanted <= j) high = j;
        else if (wanted >= i) low = i;
        else break;
    }
    out[threadIdx.x] = v[wanted];
}

// The same numbers in every thread: nothing tells that they differ.
__global__ void __launch_bounds__(128) chained(const int *in, int *out, int n) {
    int next[20]; //~ dynamic_index
    for (int k = 0; k < 20; ++k) next[k] = in[k];
    int at = 0;
    for (int k = 0; k < n; ++k) at = next[at];
    out[threadIdx.x] = at;
}
