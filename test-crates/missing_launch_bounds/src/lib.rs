//! Kernels that are launched beside their definition, with and without launch bounds.
