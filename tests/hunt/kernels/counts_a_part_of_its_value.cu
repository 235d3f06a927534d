// launch: n = 0, 1, 5, 8; m = 0, 3
// what is written is the object that the index counts in
struct Pair { int x, y; };
struct Stack {
    Pair d[9];
    Pair n;
    __device__ void push(const Pair& v) { d[n.x++] = v; }
};
extern "C" __global__ void counts_a_part_of_its_value(const float* in, const int* order, float* out, int n, unsigned m)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Stack s;
    for (int i = 0; i < 9; ++i) s.d[i] = Pair{0, 0};
    s.n = Pair{0, order[t] & 7};
    for (int i = 0; i < n; ++i) {
        if (order[t + i] & 1) s.push(Pair{i, order[t + i] & 7});
        else s.push(s.n);
    }
    int h = s.n.x;
    for (int i = 0; i < 9; ++i) h = (h * 31 + s.d[i].x * 3 + s.d[i].y) % 65521;
    out[t] = (float)h;
}
