//! Kernels whose flags a compilation database says.
