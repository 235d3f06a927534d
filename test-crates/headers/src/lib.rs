//! Kernels that live in headers of the `.cu` files.
