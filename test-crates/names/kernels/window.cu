// Arrays seen through a view that is made with arguments in parentheses, which the grammar takes for a function.
template <typename T>
class Window {
    T *data_;
    int size_;

public:
    __device__ Window(T *data, int size) : data_(data), size_(size) {}
    __device__ T &operator[](int i) const { return data_[i]; }
    __device__ int size() const { return size_; }
    __device__ T *begin() const { return data_; }
    __device__ T *end() const { return data_ + size_; }
};

constexpr int LONGEST = 24;

__device__ float largest(Window<const float> all) {
    float most = 0;
    for (float value : all) most = fmaxf(most, value);
    return most;
}

__global__ void __launch_bounds__(128) scaled(const float *in, float *out, int n) {
    float storage[LONGEST]; //~ dynamic_index
    Window<float> row(storage, n);
    for (int k = 0; k < row.size(); ++k) row[k] = in[k * 128 + threadIdx.x];
    float most = largest(Window<const float>(row.begin(), row.size()));
    out[threadIdx.x] = row[row.size() - 1] / most;
}

// An argument that is no local variable.
__global__ void __launch_bounds__(128) picked(const float *in, const int *order, float *out, int n) {
    float kept[LONGEST]; //~ dynamic_index
    Window<float> all(kept, LONGEST);
    for (int k = 0; k < LONGEST; ++k) all[k] = in[k * 128 + threadIdx.x];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += all[order[k]] * all[order[k] / 2];
    out[threadIdx.x] = sum;
}
