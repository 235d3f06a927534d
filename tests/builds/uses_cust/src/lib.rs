//! Modules for cust: PTX of the build, and PTX in the source.

use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::{Module, ModuleJitOption};
use cust::stream::{Stream, StreamFlags};

static CELLS: &str = include_str!(concat!(env!("OUT_DIR"), "/cells.ptx"));

/// Written by hand, from the repository of somebody else.
const PICK: &str = ".version 8.0
.target sm_80
.address_size 64

.visible .entry pick(.param .u64 out, .param .u32 at)
{
    .local .align 4 .b8 picked[288];
    .reg .b64 %base, %rd<5>;
    .reg .b32 %r<4>;
    mov.u64 %base, picked;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [at];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %base, %rd2;
    st.local.u32 [%rd3], %r1;
    ld.local.u32 %r2, [%base+16];
    cvta.to.global.u64 %rd4, %rd1;
    st.global.u32 [%rd4], %r2;
    ret;
}
";

pub fn cells(values: &[f32], index: &[i32]) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(CELLS, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (input, index) = (DeviceBuffer::from_slice(values)?, DeviceBuffer::from_slice(index)?);
    let out = DeviceBuffer::from_slice(&vec![0.0f32; 64 * 68])?;
    let count = values.len() as i32;
    unsafe {
        launch!(module.cells<<<1, 64, 0, stream>>>(
            input.as_device_ptr(),
            index.as_device_ptr(),
            out.as_device_ptr(),
            count
        ))?;
    }
    stream.synchronize()?;
    let mut host = vec![0.0f32; out.len()];
    out.copy_to(&mut host)?;
    Ok(host)
}

pub fn pick(at: u32) -> Result<u32, Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PICK, &[ModuleJitOption::MaxRegisters(32)])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let out = DeviceBuffer::from_slice(&[0u32])?;
    let function = module.get_function("pick")?;
    unsafe { launch!(function<<<1, 1, 0, stream>>>(out.as_device_ptr(), at))? };
    stream.synchronize()?;
    let mut host = [0];
    out.copy_to(&mut host)?;
    Ok(host[0])
}
