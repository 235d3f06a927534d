// launch: n = 0, 1, 5, 8; m = 0, 3
// a small vector with a counter, filled and walked
template <typename T, int Cap>
class SmallVec {
  public:
    __device__ void push_back(const T& v) { data_[size_++] = v; }
    __device__ int size() const { return size_; }
    __device__ const T& operator[](int i) const { return data_[i]; }
  private:
    T data_[Cap];
    int size_ = 0;
};
extern "C" __global__ void ctl_vector_of_a_template(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    SmallVec<float, 8> hits;
    for (int i = 0; i < n; ++i)
        if (in[t + i] > -0.5f) hits.push_back(in[t + i]);
    float s = 0;
    for (int i = 0; i < hits.size(); ++i) s = s * 0.5f + hits[i];
    out[t] = s + hits.size();
}
