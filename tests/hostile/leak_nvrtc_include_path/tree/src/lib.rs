pub fn f() {
    let o = cudarc::nvrtc::CompileOptions { include_paths: vec!["OUTSIDE".into()], ..Default::default() };
    cudarc::nvrtc::compile_ptx_with_opts(K, o).unwrap();
}
const K: &str = r#"#include <credentials>
extern "C" __global__ void k(float *p, int n) {
    float a[16];
    for (int i = 0; i < n; i++) a[i] = p[i];
    float s = 0;
    for (int i = 0; i < n; i++) s += a[i];
    p[0] = s;
}
"#;
