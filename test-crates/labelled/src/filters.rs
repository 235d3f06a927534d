//! Image filters, compiled when they are needed.

use cudarc::nvrtc::{CompileError, Ptx, compile_ptx, compile_ptx_with_opts, CompileOptions};

const ORIENTATIONS: &str = r#"
// Nine orientations in a cell of eight by eight pixels.
extern "C" __global__ void oriented_gradients(const float *dx, const float *dy, float *cells, int pitch) {
    float vote[9]; //@ object vote: dynamic_index
#pragma unroll
    for (int o = 0; o < 9; ++o) vote[o] = 0.0f;
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
            const int at = (blockIdx.y * 8 + y) * pitch + cell * 8 + x;
            const float angle = atan2f(dy[at], dx[at]) * (9.0f / 3.14159265f);
            const int o = ((int)floorf(angle) + 9) % 9;
            vote[o] += sqrtf(dx[at] * dx[at] + dy[at] * dy[at]); //@ access vote
        }
    }
#pragma unroll
    for (int o = 0; o < 9; ++o) cells[o * pitch + cell] = vote[o];
}

// The same cell, without orientations.
extern "C" __global__ void gradient_energy(const float *dx, const float *dy, float *energy, int pitch) { //@ clean
    float row[8];
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = 0; y < 8; ++y) {
        float sum = 0.0f;
        for (int x = 0; x < 8; ++x) {
            const int at = (blockIdx.y * 8 + y) * pitch + cell * 8 + x;
            sum += dx[at] * dx[at] + dy[at] * dy[at];
        }
        row[y] = sum;
    }
    energy[cell] = row[0] + row[1] + row[2] + row[3] + row[4] + row[5] + row[6] + row[7];
}
"#;

/// Ordered dither with Bayer's matrix, which is written into the kernel.
static DITHER: &str = r##"
extern "C" __global__ void ordered_dither(const unsigned char *in, unsigned char *out, int width, int height) {
    const unsigned char bayer[8][8] = { //@ object bayer: constant_table
        { 0, 32,  8, 40,  2, 34, 10, 42}, {48, 16, 56, 24, 50, 18, 58, 26},
        {12, 44,  4, 36, 14, 46,  6, 38}, {60, 28, 52, 20, 62, 30, 54, 22},
        { 3, 35, 11, 43,  1, 33,  9, 41}, {51, 19, 59, 27, 49, 17, 57, 25},
        {15, 47,  7, 39, 13, 45,  5, 37}, {63, 31, 55, 23, 61, 29, 53, 21}};
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    for (int y = 0; y < height; ++y)
        out[y * width + x] = in[y * width + x] > 4 * bayer[y & 7][x & 7] ? 255 : 0; //@ access bayer
}
"##;

const LANES: &str = r#"
// A channel of a pixel by number, the number by row.
extern "C" __global__ void rotate_channels(const uint4 *in, const int *lane, uint4 *out, int n, int rows) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 pixel = in[i]; //@ object pixel: vector_reinterpret
    unsigned *word = reinterpret_cast<unsigned *>(&pixel);
    for (int r = 0; r < rows; ++r) {
        const int k = lane[r];
        word[k] = word[k] << 3 | word[k] >> 29; //@ access pixel
    }
    out[i] = pixel;
}
"#;

pub fn compiled() -> Result<[Ptx; 3], CompileError> {
    let options = CompileOptions { options: vec!["--std=c++17".to_string()], ..Default::default() };
    Ok([compile_ptx(ORIENTATIONS)?, compile_ptx_with_opts(DITHER, options)?, compile_ptx(LANES)?])
}
