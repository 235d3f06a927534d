// launch: n = 0, 3, 12; m = 0
// one template for a known number of bins and for one that only the program knows; a macro with two bodies
use cudarc::nvrtc::compile_ptx;

const TEMPLATE: &str = r#"
extern "C" __global__ void template_of_two(const float* in, const int* order, float* out, int n, unsigned m) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    TYPE bin[DEG] = {};
    for (int i = 0; i < n; ++i) {
        bin[order[t + i] % DEG] += i + 1;
    }
    int s = 0;
    for (int k = 0; k < DEG; ++k) s = s * 3 + bin[k];
    out[t] = (float)(s & 0xffff);
}
"#;

macro_rules! map_kernel {
    ($name:ident, $rust:ident, $body:literal) => {
        pub const $rust: &str = concat!(
            "extern \"C\" __global__ void ", stringify!($name), "(const float* in, const int* order, float* out, int n, unsigned m) {\n",
            "  const int t = blockIdx.x * blockDim.x + threadIdx.x;\n  int v[16] = {};\n",
            "  for (int i = 0; i < n; ++i) {\n    const int k = order[t + i] & 15;\n    ", $body, "\n  }\n",
            "  int s = 0;\n  for (int i = 0; i < 16; ++i) s = s * 3 + v[i];\n  out[t] = (float)(s & 0xffff);\n}\n");
    };
}
map_kernel!(map_add, MAP_ADD, "v[k] += 1;");
map_kernel!(map_scale, MAP_SCALE, "v[k] += v[(k + 1) & 15] + 2;");

pub fn load(bins: usize) {
    let _ = compile_ptx(TEMPLATE.replace("TYPE", "int").replace("DEG", "6")).unwrap();
    let _ = compile_ptx(TEMPLATE.replace("TYPE", "int").replace("DEG", &bins.to_string())).unwrap();
    for text in [MAP_ADD, MAP_SCALE] {
        let _ = compile_ptx(text).unwrap();
    }
}
