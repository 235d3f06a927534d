//! The crate nvrtc: options go to a method of the program.

use nvrtc::NvrtcProgram;

const RANKS: &str = r##"
extern "C" __global__ void ranks(const int *in, int *out, int n) {
    int rank[RANKS]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < RANKS; ++k) rank[k] = 0;
    for (int k = 0; k < n; ++k) rank[in[k * 32 + threadIdx.x] % RANKS] += k;
#pragma unroll
    for (int k = 0; k < RANKS; ++k) out[k * 32 + threadIdx.x] = rank[k];
}
"##;

pub fn ranks() -> String {
    let program = NvrtcProgram::new(RANKS, Some("ranks.cu"), &[], &[]).unwrap();
    program.compile(&["-DRANKS=10", "--gpu-architecture=compute_80"]).unwrap();
    program.get_ptx().unwrap()
}
