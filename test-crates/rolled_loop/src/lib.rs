//! Kernels with loops over small arrays; `build.rs` would hand them to nvcc.
