//! A kernel string: what is written must suit the literal.

use cudarc::nvrtc::compile_ptx;

/// The bound is a macro of the text.
pub const INTERPRET: &str = "\n\
#define BLOCK 128\n\
extern \"C\" __global__ void __launch_bounds__(BLOCK) interpret(const int *code, const float *x, float *y, int n) {\n\
    float stack[12], *end = nullptr; int top = 0; //~ dynamic_index\n\
    const int i = blockIdx.x * BLOCK + threadIdx.x;\n\
    for (int at = 0; at < n; ++at) {\n\
        const int op = code[at * gridDim.x + blockIdx.x];\n\
        if (op >= 0) { stack[top++] = x[op * n + i]; continue; }\n\
        const float b = stack[--top], a = stack[top - 1];\n\
        stack[top - 1] = op == -1 ? a + b : a * b;\n\
    }\n\
    y[i] = end == nullptr ? stack[0] : *end;\n\
}\n";

/// Compiles it.
pub fn compile() {
    let _ = compile_ptx(INTERPRET);
}
