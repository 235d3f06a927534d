//! Kernels that tell what five articles about local memory tell.
