//! Kernels with scratch memory of a size that is known at run time only.
