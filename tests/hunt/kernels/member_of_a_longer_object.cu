// launch: n = 1, 33, 64; m = 0, 1, 3, 4, 8
// An array of one element at the end of a structure stands for all that follows it.
struct List { int count; float item[1]; };
union Room { List list; float all[12]; };
extern "C" __global__ void member_of_a_longer_object(const float* in, const int* order, float* out, int n, unsigned m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Room room = {};
    room.list.count = m;
    for (int k = 0; k < room.list.count; ++k) room.list.item[k] = in[k] * i;
    float sum = 0;
    for (int k = 0; k < 12; ++k) sum += room.all[(order[k] & 3) + k / 2] > 0 ? k : 1;
    out[i] = sum;
}
