//! Kernels in strings, in all the ways in which they reach NVRTC.

mod escapes;
mod filters;
mod included;
mod options;
mod templates;
