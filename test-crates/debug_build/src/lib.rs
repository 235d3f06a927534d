//! Kernels of which one is built with `-G`.
