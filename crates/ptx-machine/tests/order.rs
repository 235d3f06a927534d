//! In which order lanes run, and whether a launch depends on it.

use ptx_machine::{End, Launch, Memory, Origin, Outcome, Program, Races};
use ptx_syntax::Module;

/// Each thread adds one to a word that all share, or to one of its own; between, a barrier may stand.
fn run(own: bool, barrier: &str, serial: bool) -> (Outcome, u8) {
    let stride = if own { 4 } else { 0 };
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
        .reg .b64 %rd<4>;\n.reg .b32 %r<4>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n\
        mul.wide.u32 %rd2, %r1, {stride};\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\n{barrier}\n\
        add.s32 %r3, %r2, 1;\nst.global.u32 [%rd3], %r3;\nret;\n}}\n"
    );
    let program = Program::new(&Module::parse(&ptx).unwrap(), "k").unwrap();
    let mut memory = Memory::default();
    let address = memory.parameter(0).address();
    let mut launch = Launch::new(1, 40).parameter(address.to_le_bytes());
    (launch.limits.serial, launch.limits.note_races) = (serial, true);
    let outcome = program.run(&launch, &mut memory);
    assert_eq!(outcome.end, End::Completed);
    let first = memory.written().into_iter().find(|it| it.origin == Origin::Parameter(0)).unwrap();
    (outcome, first.bytes[0])
}

#[test]
fn lanes_that_run_one_after_the_other_see_each_other() {
    let races = Races { global: true, shared: false };
    let (outcome, together) = run(false, "", false);
    assert_eq!((together, outcome.races), (2, races));
    let (outcome, serial) = run(false, "", true);
    assert_eq!((serial, outcome.races), (40, races));
}

#[test]
fn what_a_barrier_orders_is_no_race() {
    // All threads write what all have read before the barrier, and the same value.
    let (outcome, _) = run(false, "bar.sync 0;", false);
    assert_eq!(outcome.races, Races::default());
    let (outcome, _) = run(true, "", true);
    assert_eq!(outcome.races, Races::default());
    // A collective instruction orders a warp, and not two.
    let (outcome, _) = run(false, "bar.warp.sync 0xffffffff;", false);
    assert!(outcome.races.global);
}

/// The warps' instructions of 64 rounds, in each of which threads part by a bit of their sum; what stands behind the loop, and in it.
fn rounds(inside: &str, behind: &str) -> u64 {
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
        .reg .pred %p<4>;\n.reg .b64 %rd<4>;\n.reg .b32 %r<8>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n\
        mov.u32 %r2, 0;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n$loop:\n\
        mad.lo.s32 %r1, %r1, 5, 1;\nand.b32 %r3, %r1, 4;\nsetp.eq.s32 %p1, %r3, 0;\n@%p1 bra $meet;\n\
        add.s32 %r1, %r1, 3;\n$meet:\nst.global.u32 [%rd3], %r1;\nadd.s32 %r2, %r2, 1;\n{inside}\n\
        setp.eq.s32 %p2, %r2, 64;\n@%p2 bra $end;\nbra.uni $loop;\n$end:\n{behind}\nret;\n}}\n"
    );
    let program = Program::new(&Module::parse(&ptx).unwrap(), "k").unwrap();
    let mut memory = Memory::default();
    let address = memory.parameter(0).address();
    let outcome = program.run(&Launch::new(1, 32).parameter(address.to_le_bytes()), &mut memory);
    assert_eq!(outcome.end, End::Completed);
    outcome.warp_instructions
}

#[test]
fn threads_meet_in_a_loop_behind_which_the_kernel_ends() {
    let store = "st.global.u32 [%rd3], %r2;";
    let before_more = rounds("", store);
    assert_eq!(rounds("", ""), before_more - 1);
    // Some leave early, and the others go on together.
    let early = "setp.eq.s32 %p3, %r1, 77;\n@%p3 bra $end;";
    assert!(rounds(early, "") <= rounds(early, store));
    assert!(rounds(early, "") < before_more + 64 * 3);
}
