//! Small models that are evaluated for many inputs.

use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx, compile_ptx_with_opts};

/// A stack machine: the program is data.
const INTERPRETER: &str = "\
extern \"C\" __global__ void interpret(const int *program, const float *x, float *y, int length, int n)\n\
{\n\
    float stack[16]; //@ object stack: dynamic_index\n\
    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
    if (i >= n) return;\n\
    int top = 0;\n\
    for (int pc = 0; pc < length; ++pc) {\n\
        const int op = program[pc];\n\
        if (op >= 0) {\n\
            stack[top++] = x[op * n + i]; //@ access stack\n\
        } else {\n\
            const float b = stack[--top], a = stack[top - 1]; //@ access stack\n\
            stack[top - 1] = op == -1 ? a + b : op == -2 ? a * b : fmaxf(a, b); //@ access stack\n\
        }\n\
    }\n\
    y[i] = stack[0];\n\
}\n";

const POLYNOMIALS: &str = r#"
// Coefficients of a fit whose degree is known when it is called.
template <typename T>
__device__ __forceinline__ T horner(const T *c, int degree, T x)
{
    T sum = c[degree]; //@ access c in fit_residuals
    for (int k = degree - 1; k >= 0; --k) sum = sum * x + c[k]; //@ access c in fit_residuals
    return sum;
}

extern "C" __global__ void fit_residuals(const double *coefficients, const double2 *points, double *residual, int degree, int count, int fits)
{
    double c[16]; //@ object c: rolled_loop | dynamic_index
    const int fit = blockIdx.x * blockDim.x + threadIdx.x;
    if (fit >= fits) return;
    for (int k = 0; k <= degree; ++k) c[k] = coefficients[k * fits + fit]; //@ access c
    double sum = 0.0;
    for (int p = 0; p < count; ++p) {
        const double r = points[p].y - horner(c, degree, points[p].x);
        sum += r * r;
    }
    residual[fit] = sum;
}

// A cubic needs no array in memory.
extern "C" __global__ void cubic_residuals(const double *coefficients, const double2 *points, double *residual, int count, int fits) //@ clean
{
    double c[4];
    const int fit = blockIdx.x * blockDim.x + threadIdx.x;
    if (fit >= fits) return;
    for (int k = 0; k < 4; ++k) c[k] = coefficients[k * fits + fit];
    double sum = 0.0;
    for (int p = 0; p < count; ++p) {
        const double r = points[p].y - horner(c, 3, points[p].x);
        sum += r * r;
    }
    residual[fit] = sum;
}
"#;

const NETWORK: &str = r#"
// A small network with all its activations alive, for eight blocks at a time.
extern "C" __global__ void __launch_bounds__(256, 6) perceptron(const float *__restrict__ in, const float *__restrict__ weight, float *__restrict__ out, int n) { //@ spills
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float hidden[WIDTH];
    #pragma unroll
    for (int h = 0; h < WIDTH; ++h) hidden[h] = in[h * n + i];
    for (int layer = 0; layer < 4; ++layer) {
        float next[WIDTH];
        #pragma unroll
        for (int h = 0; h < WIDTH; ++h) {
            float sum = 0.0f;
            #pragma unroll
            for (int k = 0; k < WIDTH; ++k) sum += weight[(layer * WIDTH + h) * WIDTH + k] * hidden[k];
            next[h] = fmaxf(sum, 0.0f);
        }
        #pragma unroll
        for (int h = 0; h < WIDTH; ++h) hidden[h] = next[h];
    }
    #pragma unroll
    for (int h = 0; h < WIDTH; ++h) out[h * n + i] = hidden[h];
}
"#;

pub fn network() -> Result<Ptx, CompileError> {
    let options = CompileOptions { options: vec!["-DWIDTH=32".to_string()], ..Default::default() };
    compile_ptx_with_opts(NETWORK, options)
}

pub fn others() -> Result<[Ptx; 2], CompileError> {
    Ok([compile_ptx(INTERPRETER)?, compile_ptx(POLYNOMIALS)?])
}
