// launch: n = 0, 1, 5, 20; m = 0, 3
// neighbours are exchanged, by a function that gets references; the value was stored before
struct Item { float score; int id; };

__device__ void exchange(Item& a, Item& b) { const Item c = a; a = b; b = c; }

extern "C" __global__ void insertion_exchanges(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    Item best[6];
    int size = 0;
    for (int i = 0; i < n; ++i) {
        int at = size < 6 ? size++ : 5;
        best[at].score = (order[t * 20 + i] & 15) * 0.25f + in[0] * m;
        best[at].id = i;
        for (; at > 0 && best[at].score > best[at - 1].score; --at) exchange(best[at], best[at - 1]);
    }
    float s = size;
    for (int i = 0; i < size; ++i) s = s * 0.75f + best[i].score * (best[i].id + 1);
    out[t] = s;
}
