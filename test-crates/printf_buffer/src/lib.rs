//! Kernels that print, and some that only assert.
