#include "/dev/fd/2"
__global__ void k() {}
