//! The ways by which kernels reach NVRTC and the driver, other than cudarc's present ones.

mod bindings;
mod cudarc_of_old;
mod cust_modules;
mod jit_options;
mod launches;
mod loads;
mod program;
mod tallies;
