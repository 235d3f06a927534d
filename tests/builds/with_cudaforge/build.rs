//! As newer versions of candle do it.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    let out = std::env::var("OUT_DIR").unwrap();
    cudaforge::KernelBuilder::new()
        .source_glob("kernels/*.cu")
        .arg("-DLENGTH=20")
        .build_lib(format!("{out}/libwith_cudaforge.a"))
        .unwrap();
}
