//! Nothing but kernels.
