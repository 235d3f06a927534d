//! Kernels that index small arrays with what they find in memory.
