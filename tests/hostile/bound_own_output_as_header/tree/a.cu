#include "/dev/stdout"
__global__ void k() {}
