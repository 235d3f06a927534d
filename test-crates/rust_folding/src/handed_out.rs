//! A kernel that goes to code elsewhere: no call here compiles it, and it is complete as it stands.

/// For those who compile kernels themselves.
pub fn kernels() -> Vec<(&'static str, &'static str)> {
    vec![("tally", TALLY)]
}

const TALLY: &str = r#"// Checked with assumed options. //~ not_analysed
extern "C" __global__ void tally(const int *in, int *out, int n) {
    int bins[24]; //~ dynamic_index
    for (int k = 0; k < 24; ++k) bins[k] = 0;
    for (int k = 0; k < n; ++k) bins[in[k * 32 + threadIdx.x] % 24] += k;
    out[threadIdx.x] = bins[n % 24];
}
"#;
