//! A kernel string with a table.

use cudarc::nvrtc::{CompileError, Ptx, compile_ptx};

const PALETTE: &str = r#"
extern "C" __global__ void recolour(const unsigned char *in, unsigned *out, int n) {
    unsigned palette[24] = { //~ constant_table
        0x000000, 0x1d2b53, 0x7e2553, 0x008751, 0xab5236, 0x5f574f, 0xc2c3c7, 0xfff1e8,
        0xff004d, 0xffa300, 0xffec27, 0x00e436, 0x29adff, 0x83769c, 0xff77a8, 0xffccaa,
        0x291814, 0x111d35, 0x422136, 0x125359, 0x742f29, 0x49333b, 0xa28879, 0xf3ef7d};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = palette[in[i] % 24] ^ palette[in[i] / 16];
}
"#;

pub fn recolour() -> Result<Ptx, CompileError> {
    compile_ptx(PALETTE)
}
