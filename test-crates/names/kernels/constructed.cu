// A constructor takes a parameter of the kernel, which is not what the object is a copy of.
template <int CAPACITY> struct Ranking {
    float score[CAPACITY];
    int length;
    __device__ explicit Ranking(int wanted) : length(wanted) {
        for (int i = 0; i < CAPACITY; ++i) score[i] = -1.0f;
    }
    __device__ void offer(float value) {
        int at = length - 1;
        while (at > 0 && score[at - 1] < value) {
            score[at] = score[at - 1];
            --at;
        }
        score[at] = value;
    }
};

__global__ void ranked(const float *in, float *out, int n, int wanted) {
    Ranking<24> best(wanted); //~ dynamic_index
    for (int i = 0; i < n; ++i) best.offer(in[i * 32 + threadIdx.x]);
    for (int i = 0; i < wanted; ++i) out[i * 32 + threadIdx.x] = best.score[i];
}
