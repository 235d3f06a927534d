//! As most projects do it.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    cc::Build::new()
        .cuda(true)
        .cudart("none")
        .define("LENGTH", "12")
        .flag("-gencode=arch=compute_80,code=sm_80")
        .flag("-gencode=arch=compute_90a,code=sm_90a")
        .file("kernels/with_cc.cu")
        .compile("with_cc");
}
