__global__ void k(float *p, int n) {
    float a[16];
    for (int i = 0; i < n; i++) a[i] = p[i];
    float s = 0;
    for (int i = 0; i < n; i++) s += a[i];
    p[0] = s;
}
