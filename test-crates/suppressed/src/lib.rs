//! Kernels whose findings are silenced, line by line.
