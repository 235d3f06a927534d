//! Kernels that call the math library.
