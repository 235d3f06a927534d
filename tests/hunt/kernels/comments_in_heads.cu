// launch: n = 0, 1, 5, 12; m = 0, 3
// comments where the tool wants to insert
extern "C" __global__ void comments_in_heads(const float* in, const int* order, float* out, int n, unsigned m)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a /* [8] */ [12] /* = {} */; float s = 0.0f; if (n) /* first */ for /* int j = 0 */ ( /**/ int i = 0 // ;
        ; i /* < 8 */ < n; /* i += 2 */ i++ ) /* { */ a[ /* 0 */ i] = in[t * 12 + i]; else s = 4.0f; //}
    for (int i = 0; i < n; i++) // a trailing backslash would be bad
        /* { */ s = s * 0.5f + a[i]; s += 1.0f; for (int i = n; i-- > 0; ) s -= a[i] * /*
    */ 0.5f;
    out[t] = s;
}
