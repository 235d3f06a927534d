// launch: n = 0, 1, 5, 12; m = 0, 3
extern "C" __global__ void while_post_increment(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[12];
    int len = 0, left = n;
    while (left --> 0) a[len++] = in[t * 12 + left];
    float s = 0.0f;
    int i = 0;
    while (i < len) { const float x = a[i++]; s = s * 0.5f + (i < len ? x * a[i] : x); }
    out[t] = s + left * 10.0f;
}
