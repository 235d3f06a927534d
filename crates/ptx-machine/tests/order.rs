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
