//! Kernels whose arrays no thread has the registers for.
