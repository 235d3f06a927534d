//! cust: PTX text, and machine code of which nothing can be said.

use cust::module::{Module, ModuleJitOption};

/// PTX that somebody keeps in the source.
const KEPT: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry kept(.param .u64 out, .param .u32 at)
{
    .local .align 4 .b8 __local_depot0[256];
    .reg .b64 %SP, %SPL, %rd<6>;
    .reg .b32 %r<4>;
    mov.u64 %SPL, __local_depot0;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [at];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %SPL, %rd2;
    st.local.u32 [%rd3], %r1; //~ dynamic_index
    ld.local.u32 %r2, [%SPL+16];
    cvta.to.global.u64 %rd4, %rd1;
    st.global.u32 [%rd4], %r2;
    ret;
}
";

pub fn modules() -> Vec<Module> {
    vec![
        Module::from_ptx(KEPT, &[ModuleJitOption::DetermineTargetFromContext]).unwrap(),
        Module::from_ptx(include_str!("../kernels/checked_in.ptx"), &[]).unwrap(),
        Module::from_cubin(include_bytes!("../kernels/checked_in.ptx"), &[]).unwrap(), //~ not_checked
    ]
}
