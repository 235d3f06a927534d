//! Kernels that need more registers than they may use.
