// right: 1
// wrong: 51 52 53 54
// Opcodes far apart, of which one alone leads to the mistake.
__device__ __forceinline__ int push(int (&s)[8], int top, int v) { s[top & 7] = v; return top + 1; }
extern "C" __global__ void hidden_opcode(const int *code, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int s[8], top = 0, sum = 0;
    for (int k = 0; k < 8; ++k) s[k] = k;
#if V == 0
    for (int k = 0; k < n; ++k)
        switch (code[i * n + k]) {
        case 1100: top = push(s, top, k); break;
        case 2200: if (top > 0) sum += s[--top & 7]; break;
        case 3300: s[(top + 3) & 7] ^= sum; break;
        case 4400: sum = sum * 3 + s[(top + 7) & 7]; break;
        default: ++sum;
        }
#else
#define AT(index, value) \
    _Pragma("unroll") for (int j = 0; j < 8; ++j) if (j == ((index) & 7)) value
    for (int k = 0; k < n; ++k)
        switch (code[i * n + k]) {
        case 1100: AT(top, s[j] = k); ++top; break;
        case 2200: if (top > (V == 51)) { --top; AT(top, sum += s[j]); } break;
        case 3300: AT(top + (V == 52 ? 2 : 3), s[j] ^= sum); break;
        case 4400: { int y = 0; AT(V == 53 ? top : top + 7, y = s[j]); sum = sum * 3 + y; break; }
        default: sum += V == 54 && code[i * n + k] > 4000 ? 2 : 1;
        }
#endif
    out[i] = sum;
}
