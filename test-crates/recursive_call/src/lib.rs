//! Kernels that walk trees, with recursion and without.
