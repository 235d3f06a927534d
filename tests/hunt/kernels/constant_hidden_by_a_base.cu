// launch: n = 1, 33; m = 0, 1, 3, 7
// A member of a base class hides the array in constant memory.
struct Row { float w[8]; int used; };
__constant__ Row rows[2];
__device__ Row others[64][2];
struct Base { Row* rows; };
struct Scene : Base {
    __device__ float go(const int* order) {
        Row row = rows[order[0] & 1];
        rows[order[0] & 1].used = 2;
        rows[order[0] & 1].w[3] = 100;
        float sum = 0;
        for (int k = 0; k < row.used; ++k) sum += row.w[order[k] & 7];
        return sum;
    }
};
extern "C" __global__ void constant_hidden_by_a_base(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Scene scene;
    scene.rows = others[i];
    for (int k = 0; k < 8; ++k) scene.rows[0].w[k] = scene.rows[1].w[k] = in[k] + i;
    scene.rows[0].used = scene.rows[1].used = 8;
    out[i] = scene.go(order) + m;
}
