//! CMake finds the compiler, probes it, and compiles.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    cmake::Config::new(".").build_target("with_cmake").build();
}
