#line 3 "x.cuh"
__global__ void k() { undefined; }
