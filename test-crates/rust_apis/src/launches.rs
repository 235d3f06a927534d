//! cust's `launch!`: blocks of 1024 threads, and a bound that is larger than what is launched.

use cust::launch;
use cust::module::Module;

pub fn run(module: &Module, stream: &Stream, out: Pointer) {
    unsafe { launch!(module.kept<<<1, (16, 4), 0, stream>>>(out, 3)) }.unwrap();
}
