//! PTX that Rust code includes; bindings are written into the source tree, the same ones each time.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    let builder = bindgen_cuda::Builder::default().kernel_paths_glob("kernels/*.cu").arg("-DLENGTH=16");
    let bindings = builder.arg("-maxrregcount=32").build_ptx().unwrap();
    bindings.write("src/ptx.rs").unwrap();
}
