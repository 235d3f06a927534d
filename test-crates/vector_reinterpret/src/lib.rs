//! The kernels are in `kernels/`.
