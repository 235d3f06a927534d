//! Several arrays in one frame: an access beyond its own array is seen, whichever way its pointer came.

use ptx_machine::{End, Launch, Memory, Outcome, Program};
use ptx_syntax::Module;

/// Arrays of four and of six words. `at` is the index in the first one; `way` chooses how its pointer gets to the access:
/// directly, as a generic address, through local memory, or through a function. The store before it initialises all.
const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
.func (.param .b32 result) read(.param .b64 pointer)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n\
ld.param.u64 %rd1, [pointer];\nld.u32 %r1, [%rd1];\nst.param.b32 [result], %r1;\nret;\n}\n\
.visible .entry k(.param .u32 at, .param .u32 way)\n{\n.local .align 16 .b8 __local_depot0[48];\n\
.reg .b64 %SP;\n.reg .b64 %SPL;\n.reg .b64 %rd<12>;\n.reg .b32 %r<12>;\n.reg .pred %p<5>;\n\
mov.u64 %SPL, __local_depot0;\ncvta.local.u64 %SP, %SPL;\nadd.u64 %rd1, %SPL, 0;\nadd.u64 %rd2, %SPL, 16;\n\
add.u64 %rd3, %SP, 0;\nadd.u64 %rd4, %SPL, 40;\nld.param.s32 %r1, [at];\nld.param.u32 %r2, [way];\n\
mov.u32 %r3, 7;\nst.local.v4.u32 [%rd1], {%r3, %r3, %r3, %r3};\nst.local.v4.u32 [%rd2], {%r3, %r3, %r3, %r3};\n\
st.local.v2.u32 [%rd2+16], {%r3, %r3};\nmul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd1, %rd5;\nadd.s64 %rd7, %rd3, %rd5;\n\
setp.eq.u32 %p1, %r2, 1;\n@%p1 bra GENERIC;\nsetp.eq.u32 %p2, %r2, 2;\n@%p2 bra STORED;\n\
setp.eq.u32 %p3, %r2, 3;\n@%p3 bra PASSED;\nld.local.u32 %r4, [%rd6];\nret;\n\
GENERIC:\nld.u32 %r5, [%rd7];\nret;\n\
STORED:\nst.local.u64 [%rd4], %rd7;\nld.local.u64 %rd8, [%rd4];\nld.u32 %r6, [%rd8];\nret;\n\
PASSED:\n{\n.param .b64 argument;\nst.param.b64 [argument], %rd7;\n.param .b32 value;\n\
call.uni (value), read, (argument);\nld.param.b32 %r7, [value];\n}\nret;\n}\n";

fn run(at: i32, way: u32) -> Outcome {
    let program = Program::new(&Module::parse(PTX).unwrap(), "k").unwrap();
    let launch = Launch::new(1, 32).parameter(at.to_le_bytes()).parameter(way.to_le_bytes());
    program.run(&launch, &mut Memory::default())
}

#[test]
fn an_access_keeps_to_the_array_of_its_pointer() {
    for way in 0..4 {
        let seen = |at: i32| {
            let outcome = run(at, way);
            assert_eq!(outcome.end, End::Completed, "{at} {way}");
            (outcome.events.object_out_of_bounds.count, outcome.events.local_out_of_bounds.count)
        };
        assert_eq!((seen(0), seen(3)), ((0, 0), (0, 0)), "{way}");
        // The second array, the variable behind it, and what is beside the frame.
        assert_eq!((seen(4), seen(9)), ((32, 0), (32, 0)), "{way}");
        assert_eq!((seen(12).1, seen(-1).1), (32, 32), "{way}");
    }
}

#[test]
fn the_address_of_an_element_starts_no_array() {
    // The end of the second access lies behind the address that an addition forms.
    let ptx = PTX.replace("add.u64 %rd4, %SPL, 40;", "add.u64 %rd4, %SPL, 40;\nadd.u64 %rd9, %SPL, 8;");
    let program = Program::new(&Module::parse(&ptx).unwrap(), "k").unwrap();
    let launch = Launch::new(1, 32).parameter(3i32.to_le_bytes()).parameter(0u32.to_le_bytes());
    let outcome = program.run(&launch, &mut Memory::default());
    assert_eq!(outcome.events.object_out_of_bounds.count, 0);
}

#[test]
fn what_nothing_wrote_is_as_the_launch_says() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
        .local .align 4 .b8 depot[8];\n.shared .align 4 .b8 tile[8];\n.reg .b64 %rd<2>;\n.reg .b32 %r<4>;\n\
        ld.param.u64 %rd1, [out];\nmov.u32 %r1, 7;\nst.local.u32 [depot], %r1;\nld.local.u32 %r2, [depot+4];\n\
        ld.shared.u32 %r3, [tile];\nld.local.u32 %r1, [depot];\nst.global.u32 [%rd1], %r1;\n\
        st.global.u32 [%rd1+4], %r2;\nst.global.u32 [%rd1+8], %r3;\nret;\n}\n";
    let program = Program::new(&Module::parse(ptx).unwrap(), "k").unwrap();
    for unwritten in [0xcd, 0x32] {
        let mut memory = Memory::default();
        let region = memory.parameter(0);
        let mut launch = Launch::new(1, 1).parameter(region.address().to_le_bytes());
        launch.limits.unwritten = unwritten;
        let outcome = program.run(&launch, &mut memory);
        let events = (outcome.events.uninitialized_local.count, outcome.events.uninitialized_shared.count);
        assert_eq!((outcome.end, events), (End::Completed, (1, 1)));
        let word = [unwritten; 4];
        assert_eq!(memory.bytes(region, 0, 12).unwrap(), [[7, 0, 0, 0], word, word].concat());
    }
}

#[test]
fn a_kernel_has_the_functions_of_the_tables_that_it_names() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .func one() { ret; }\n.func two() { ret; }\n.func far() { ret; }\n\
        .global .align 8 .u64 inner[1] = {two};\n.global .align 8 .u64 table[2] = {one, inner};\n\
        .global .align 8 .u64 other[1] = {far};\n\
        .visible .entry k()\n{\n.reg .b64 %rd<2>;\nld.global.u64 %rd1, [table];\nret;\n}\n\
        .visible .entry plain()\n{\nret;\n}\n";
    let module = Module::parse(ptx).unwrap();
    let functions = |kernel: &str| -> Vec<String> {
        Program::new(&module, kernel).unwrap().functions().map(str::to_string).collect()
    };
    let mut named = functions("k");
    named.sort();
    assert_eq!((named, functions("plain")), (vec!["k".into(), "one".into(), "two".into()], vec!["plain".to_string()]));
}
