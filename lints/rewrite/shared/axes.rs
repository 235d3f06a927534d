//! The number of dimensions of a kernel's blocks.
//!
//! A part of shared memory for each thread needs an index that no two threads have in common. `threadIdx.x` is one only
//! if blocks have one dimension, and what a kernel reads does not tell that: `atomicAdd(&out[threadIdx.x], 1)` is
//! legal in a block of 32 x 4.

use nv_code::PtxFunction;
use ptx_syntax::{Form, Instruction, Modifier, Opcode, Operand, Space, SpecialRegister};

use crate::framework::LintContext;

/// The dimensions of the blocks with which a kernel (or all that may call the unit's functions) may be launched: those of
/// its thread indices and of the launches, if there cannot be more, else three.
pub fn axes(cx: &LintContext<'_>, is_of_kernel: bool) -> Option<usize> {
    let launched = cx.unit.launches().axes(&cx.frame.name).unwrap_or(1);
    let kernel = cx.unit.function(&cx.frame.mangled)?;
    let is_asked = |function: &&PtxFunction| !function.is_entry || !is_of_kernel || function.name == kernel.name;
    let functions: Vec<&PtxFunction> = cx.unit.facts.ptx.functions.iter().filter(is_asked).collect();
    let axes = used(&functions).max(launched);
    let is_launched_so = is_of_kernel && cx.unit.has_all_launches(cx.frame) && cx.unit.launch(cx.frame).is_some();
    Some(if is_launched_so || would_collide(&functions) { axes } else { 3 })
}

/// The dimensions whose thread index the code reads.
fn used(functions: &[&PtxFunction]) -> usize {
    let mut operands = functions.iter().flat_map(|function| &function.instructions).flat_map(|it| &it.operands);
    let used = operands.try_fold(1, |most, operand| match operand {
        Operand::Special(SpecialRegister::TidZ) => Err(3),
        Operand::Special(SpecialRegister::TidY) => Ok(2),
        _ => Ok(most),
    });
    used.unwrap_or_else(|all| all)
}

/// Whether threads that differ only in an index that is not read would write the same places at the same time, which
/// is undefined, so that there are no such threads: all they do depends on what is read, and their only effects are
/// plain stores.
fn would_collide(functions: &[&PtxFunction]) -> bool {
    let is_defined = |name: &str| functions.iter().any(|function| !function.is_entry && *function.name == *name);
    let mut instructions = functions.iter().flat_map(|function| &function.instructions);
    instructions.all(|instruction| {
        instruction.operands.iter().all(is_of_indices)
            && match instruction.call() {
                Some(call) => matches!(call.callee, Operand::Symbol(name, _) if is_defined(name)),
                None => is_plain(instruction),
            }
    })
}

/// No register that tells threads apart by other means than their index.
fn is_of_indices(operand: &Operand) -> bool {
    use SpecialRegister::{CtaidX, CtaidY, CtaidZ, NctaidX, NctaidY, NctaidZ, NtidX, NtidY, NtidZ, TidX, TidY, TidZ};
    match operand {
        Operand::Special(special) => matches!(
            special,
            TidX | TidY | TidZ | NtidX | NtidY | NtidZ | CtaidX | CtaidY | CtaidZ | NctaidX | NctaidY | NctaidZ
        ),
        _ => true,
    }
}

/// Whether an instruction computes from its operands, loads, or stores as any thread may: nothing atomic, and nothing
/// that threads of a warp do together.
fn is_plain(instruction: &Instruction) -> bool {
    use Opcode::{
        Activemask, Atom, Clusterlaunchcontrol, Cp, Elect, Fabric, Fns, Ldmatrix, Match, Mbarrier, Mma, Movmatrix,
        Multimem, Red, Redux, Setmaxnreg, Shfl, Stmatrix, Suld, Sured, Sust, Tcgen05, Tensormap, Unknown, Vote, Wgmma,
        Wmma,
    };
    let form: &Form = &instruction.form;
    let is_ordered = [Modifier::Volatile, Modifier::Relaxed, Modifier::Acquire, Modifier::Release, Modifier::AcqRel]
        .iter()
        .any(|modifier| form.has(*modifier));
    match form.opcode {
        Opcode::Ld | Opcode::St => !is_ordered || form.space() == Space::Local,
        Activemask | Atom | Clusterlaunchcontrol | Cp | Elect | Fabric | Fns | Ldmatrix | Match | Mbarrier | Mma
        | Movmatrix | Multimem | Red | Redux | Setmaxnreg | Shfl | Stmatrix | Suld | Sured | Sust | Tcgen05
        | Tensormap | Unknown | Vote | Wgmma | Wmma => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nv_code::PtxModule;

    /// Whether a block with an axis that the body does not read would collide, and the axes that it reads.
    fn of(body: &str) -> (bool, usize) {
        let text = format!(
            ".visible .func helper()\n{{\nret;\n}}\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n{body}\nret;\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let functions: Vec<&PtxFunction> = module.functions.iter().collect();
        (would_collide(&functions), used(&functions))
    }

    #[test]
    fn plain_stores_of_equal_threads_collide() {
        for (body, expected) in [
            ("mov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;", (true, 1)),
            ("mov.u32 %r1, %tid.y;\nst.global.v2.u32 [%rd1], {%r1, %r2};\nbar.sync 0;", (true, 2)),
            ("mov.u32 %r1, %tid.z;\nst.shared.u32 [%rd1], %r1;", (true, 3)),
            ("call.uni helper, ();\nst.global.u32 [%rd1], %r1;", (true, 1)),
            ("red.global.add.u32 [%rd1], %r1;", (false, 1)),
            ("atom.global.add.u32 %r1, [%rd1], 1;", (false, 1)),
            ("st.volatile.global.u32 [%rd1], %r1;", (false, 1)),
            ("mov.u32 %r1, %laneid;\nst.global.u32 [%rd1], %r1;", (false, 1)),
            ("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;\nst.global.u32 [%rd1], %r1;", (false, 1)),
            ("call.uni vprintf, ();", (false, 1)),
            ("call %rd1, (), prototype_0;", (false, 1)),
        ] {
            assert_eq!(of(body), expected, "{body}");
        }
    }
}
