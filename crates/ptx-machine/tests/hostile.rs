//! Damaged kernels end without a panic and within the limits.

use ptx_machine::{Generated, Launch, Memory, Program};
use ptx_syntax::Module;

/// A generator with the same sequence on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below.max(1)
    }
}

#[test]
fn damaged_kernels_end_without_panic() {
    let text = include_str!("data/kernels.ptx");
    let words: Vec<&str> = text.split_inclusive([' ', '\t', '\n', ',', ';', '.']).collect();
    let mut random = Random(77);
    for _ in 0..120 {
        let mut damaged = words.clone();
        for _ in 0..1 + random.next(40) {
            // Inserting a word from elsewhere makes unusual instructions, operands and tables.
            let at = random.next(damaged.len());
            damaged[at] = words[random.next(words.len())];
        }
        let Ok(module) = Module::parse(&damaged.concat()) else { continue };
        for kernel in module.functions.iter().filter(|function| function.is_entry) {
            let Ok(program) = Program::new(&module, &kernel.name) else { continue };
            let mut memory = Memory::new(Generated::new(3));
            let mut launch = Launch::new(1, 48);
            launch.dynamic_shared = 256;
            launch.limits.warp_instructions = 3_000;
            for (number, (_, input)) in (0u32..).zip(kernel.inputs()) {
                let mut bytes = vec![0; input.bytes.min(4096) as usize];
                let value = if bytes.len() == 8 { memory.parameter(number).address() } else { 5 };
                let count = bytes.len().min(8);
                bytes[..count].copy_from_slice(&value.to_le_bytes()[..count]);
                launch.parameters.push(bytes);
            }
            program.run(&launch, &mut memory);
        }
    }
}

/// Runs `k(out)` of one thread.
fn run(body: &str) -> (ptx_machine::End, Vec<u8>) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n\
         .visible .entry k(.param .u64 k_param_0) {{\n.reg .b64 %rd<9>;\n.reg .b32 %r<4>;\n.reg .pred %p<4>;\n\
         ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u64 %rd3, 0;\n{body}\nst.global.u64 [%rd2], %rd3;\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap();
    let program = Program::new(&module, "k").unwrap();
    let mut memory = Memory::new(Generated::new(3));
    let mut launch = Launch::new(1, 1);
    launch.parameters.push(memory.parameter(0).address().to_le_bytes().to_vec());
    launch.limits.warp_instructions = 60_000;
    let out = memory.parameter(0);
    let outcome = program.run(&launch, &mut memory);
    (outcome.end, memory.bytes(out, 0, 8).unwrap())
}

#[test]
fn the_heap_ends() {
    // Counts the mebibytes that `malloc` gives.
    let (end, count) =
        run("more:\nmov.u64 %rd5, 1048576;\n{\n.param .b64 n;\nst.param.b64 [n], %rd5;\n.param .b64 r;\n\
         call.uni (r), malloc, (n);\nld.param.b64 %rd4, [r];\n}\nsetp.eq.s64 %p1, %rd4, 0;\n@%p1 bra done;\n\
         add.s64 %rd3, %rd3, 1;\nbra more;\ndone:");
    assert!(matches!(end, ptx_machine::End::Completed), "{end:?}");
    assert_eq!(count, [8, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn pages_count_as_work() {
    // Stores to another page in each round.
    let (end, _) = run("more:\nadd.s64 %rd3, %rd3, 4096;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], 1;\n\
         setp.lt.s64 %p1, %rd3, 134217728;\n@%p1 bra more;");
    assert!(matches!(end, ptx_machine::End::Limit), "{end:?}");
}
