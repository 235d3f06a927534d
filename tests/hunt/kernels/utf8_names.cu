// launch: n = 0, 1, 5, 12; m = 0, 3
// names outside ASCII, one a prefix of the other; columns count bytes or characters: äöü → ∑
extern "C" __global__ void utf8_names(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    /* größe – ‘Breite’ */ float größe[12] = {}, größe2[12]; /* ∑ */ int länge = n;
    for (int i = 0; i < länge; ++i) { größe[order[t + i] % 12] += in[t * 12 + i]; größe2[i] = größe[i]; /* ∑∑∑ */ if (größe[i] > 0.9f) --länge; }
    float σ = 0.0f;
    for (int i = 0; i < länge; ++i) σ = σ * 0.5f + größe[i] - größe2[länge - 1 - i];
    out[t] = σ + länge;
}
