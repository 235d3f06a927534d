//! Kernels whose local memory has a cause that no lint names yet.
