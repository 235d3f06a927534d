//! Kernels that call functions through pointers and from other files.
