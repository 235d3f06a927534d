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
