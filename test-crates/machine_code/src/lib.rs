//! Kernels that were compiled before, and that programs load as they are.

use cudarc::nvrtc::Ptx;
use cust::module::Module;

const FILTERS: &[u8] = include_bytes!("../images/lines.cubin");

/// What is found stands in `device/filters.cu`.
pub fn filters() -> Ptx {
    // Made by `nvcc -cubin -lineinfo`.
    Ptx::from_binary(FILTERS.to_vec())
}

pub fn filters_of_older_gpus() -> Ptx {
    // Made by `nvcc -cubin`.
    Ptx::from_file("images/plain.cubin") //~ unexplained_local_memory sm_80 //~ register_spill sm_80 //~ recursive_call sm_80
}

/// Code for two architectures, and PTX for later ones.
pub fn filters_of_any_gpu() -> Module {
    Module::from_fatbin(include_bytes!("../images/all.fatbin"), &[]).unwrap() //~ recursive_call sm_120 //~ unexplained_local_memory sm_120
}
