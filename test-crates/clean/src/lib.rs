//! Kernels that look guilty and use no local memory: nothing is reported.
