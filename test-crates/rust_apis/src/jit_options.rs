//! cust: options for the driver's compiler, which do change the code that runs.

use cust::module::{Module, ModuleJitOption, OptLevel};

/// 32 values at a time.
const WIDE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry wide(.param .u64 data) //~ register_spill
{
    .reg .b64 %rd<3>;
    .reg .b32 %v<32>;
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd2, %rd1;
    ld.volatile.global.v4.u32 {%v0, %v1, %v2, %v3}, [%rd2+0];
    ld.volatile.global.v4.u32 {%v4, %v5, %v6, %v7}, [%rd2+16];
    ld.volatile.global.v4.u32 {%v8, %v9, %v10, %v11}, [%rd2+32];
    ld.volatile.global.v4.u32 {%v12, %v13, %v14, %v15}, [%rd2+48];
    ld.volatile.global.v4.u32 {%v16, %v17, %v18, %v19}, [%rd2+64];
    ld.volatile.global.v4.u32 {%v20, %v21, %v22, %v23}, [%rd2+80];
    ld.volatile.global.v4.u32 {%v24, %v25, %v26, %v27}, [%rd2+96];
    ld.volatile.global.v4.u32 {%v28, %v29, %v30, %v31}, [%rd2+112];
    st.volatile.global.v4.u32 [%rd2+0], {%v3, %v0, %v1, %v2};
    st.volatile.global.v4.u32 [%rd2+16], {%v7, %v4, %v5, %v6};
    st.volatile.global.v4.u32 [%rd2+32], {%v11, %v8, %v9, %v10};
    st.volatile.global.v4.u32 [%rd2+48], {%v15, %v12, %v13, %v14};
    st.volatile.global.v4.u32 [%rd2+64], {%v19, %v16, %v17, %v18};
    st.volatile.global.v4.u32 [%rd2+80], {%v23, %v20, %v21, %v22};
    st.volatile.global.v4.u32 [%rd2+96], {%v27, %v24, %v25, %v26};
    st.volatile.global.v4.u32 [%rd2+112], {%v31, %v28, %v29, %v30};
    ret;
}
";

const FEW: &[ModuleJitOption] = &[ModuleJitOption::MaxRegisters(3 << 3), ModuleJitOption::OptLevel(OptLevel::O2)];

/// The first has all the registers that it wants.
pub fn modules(limit: u32) -> [Module; 3] {
    [
        Module::from_ptx(WIDE, &[ModuleJitOption::OptLevel(OptLevel::O4)]).unwrap(),
        Module::from_ptx(WIDE, FEW).unwrap(),
        Module::from_ptx(WIDE, &[ModuleJitOption::MaxRegisters(limit)]).unwrap(), //~ not_analysed
    ]
}
