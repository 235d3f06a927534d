//! Kernels that hand out pointers to their own variables.
