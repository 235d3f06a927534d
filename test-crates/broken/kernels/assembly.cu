// The front end does not read inline assembly: ptxas refuses it.
extern "C" __global__ void no_such_instruction(const int *in, int *out) {
    int value = in[threadIdx.x];
    asm("popcount.b32 %0, %1;" : "=r"(value) : "r"(value)); //~ ptxas
    out[threadIdx.x] = value;
}
