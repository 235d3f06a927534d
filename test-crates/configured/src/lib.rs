//! Kernels whose flags and levels `Cargo.toml` sets.
