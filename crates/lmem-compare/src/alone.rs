//! Runs kernels without another version, to see what their local memory costs.

use ptx_machine::Program;
use ptx_syntax::Module;

use crate::estimate::Counts;
use crate::reach::Reach;
use crate::search::{self, Search};
use crate::{Outside, Terms};

/// A unit's PTX without edits.
#[derive(Debug)]
pub struct Alone {
    module: Module,
}

impl Alone {
    /// `None` if the text is no PTX.
    pub fn new(ptx: &str) -> Option<Self> {
        Some(Self { module: Module::parse(ptx).ok()? })
    }

    /// What a kernel executes in a launch that reaches its local memory. `None` if no launch is valid, or the kernel
    /// has an instruction that cannot be run.
    pub fn counts(&self, kernel: &str, terms: Terms, outside: Outside<'_>) -> Option<Counts> {
        let program = Program::new(&self.module, kernel).ok()?;
        let reach = Reach::of_local_memory(&self.module, &program);
        let search = Search::new([&self.module, &self.module], &program, &program, terms);
        search::alone(search.reaching(reach).within(outside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an element of an array, if the parameter is 3 or more.
    const GUARDED: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry guarded(.param .u64 guarded_param_0, .param .u32 guarded_param_1)
{
.local .align 4 .b8 __local_depot0[64];
.reg .pred %p<2>;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
.reg .b64 %SPL;
mov.u64 %SPL, __local_depot0;
ld.param.u64 %rd1, [guarded_param_0];
ld.param.u32 %r1, [guarded_param_1];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
setp.lt.u32 %p1, %r1, 3;
@%p1 bra $done;
and.b32 %r3, %r2, 15;
mul.wide.u32 %rd4, %r3, 4;
add.s64 %rd5, %SPL, %rd4;
st.local.u32 [%rd5], %r1;
ld.local.u32 %r4, [%rd5];
$done:
st.global.u32 [%rd3], %r1;
ret;
}
";

    fn counts(ptx: &str) -> Option<Counts> {
        Alone::new(ptx).unwrap().counts("guarded", Terms::default(), Outside::default())
    }

    #[test]
    fn a_launch_reaches_the_local_memory() {
        let counts = counts(GUARDED).unwrap();
        assert!(counts.local_accesses >= 2 * counts.warps, "{counts:?}");
        assert!(counts.local_lines > counts.local_accesses, "{counts:?}");
    }

    #[test]
    fn what_no_launch_reaches_is_not_counted() {
        assert_eq!(counts(&GUARDED.replace("and.b32 %r3, %r2, 15", "add.s32 %r3, %r2, 100")), None);
        let never = GUARDED.replace("setp.lt.u32 %p1, %r1, 3", "setp.ge.u32 %p1, %r1, 0");
        assert_eq!(counts(&never), None);
        assert_eq!(counts(&GUARDED.replace("and.b32 %r3", "tex.2d %r3")), None);
    }

    #[test]
    fn counts_are_the_same_each_time() {
        assert_eq!(counts(GUARDED), counts(GUARDED));
    }
}
