//! Kernels in strings, beside the files in `kernels/`.

mod filters;
mod models;
mod particles;
