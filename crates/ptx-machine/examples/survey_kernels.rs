//! Runs all kernels of PTX files on memory with made-up contents, and reports how they end:
//! `cargo run --release --example survey_kernels -- FILES…`

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ptx_machine::{Class, End, Generated, Launch, Memory, Program};
use ptx_syntax::Module;

fn main() {
    let mut ends: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut kernels, mut instructions, mut spent) = (0usize, 0u64, Duration::ZERO);
    let mut clean = 0usize;
    for path in std::env::args().skip(1) {
        let Some(module) = std::fs::read_to_string(&path).ok().and_then(|text| Module::parse(&text).ok()) else {
            continue;
        };
        for kernel in module.functions.iter().filter(|function| function.is_entry) {
            kernels += 1;
            let program = match Program::new(&module, &kernel.name) {
                Ok(program) => program,
                Err(error) => {
                    ends.entry(error.to_string()).or_default().0 += 1;
                    continue;
                }
            };
            let mut memory = Memory::new(Generated::new(1));
            let launch = launch(&program, &mut memory);
            let start = Instant::now();
            let outcome = program.run(&launch, &mut memory);
            spent += start.elapsed();
            instructions += outcome.thread_instructions;
            let end = match &outcome.end {
                End::Fault(fault, _) => format!("fault: {}", fault.to_string().split("0x").next().unwrap_or("")),
                other => other.to_string(),
            };
            if outcome.end == End::Completed && outcome.events == ptx_machine::Events::default() {
                clean += 1;
            }
            let entry = ends.entry(end).or_insert((0, format!("{path} {} {}", kernel.name, outcome.end)));
            entry.0 += 1;
            if std::env::var_os("VERBOSE").is_some() && outcome.end != End::Completed {
                println!("{path} {}: {}", kernel.name, outcome.end);
            }
        }
    }
    let rate = instructions as f64 / spent.as_secs_f64() / 1e6;
    println!(
        "{kernels} kernels, {instructions} thread instructions in {spent:?}: {rate:.0} million a second; {clean} without any event"
    );
    for (end, (count, first)) in ends {
        println!("{count:6} {end}    first: {first}");
    }
}

/// Pointers point to regions, integers are small, floats are 1.5.
fn launch(program: &Program, memory: &mut Memory) -> Launch {
    let kernel = program.kernel();
    let threads = kernel.required_thread_count().or(kernel.max_thread_count()).unwrap_or(64).min(64);
    let mut launch = Launch::new(2, threads);
    if let Some(required) = kernel.required_threads {
        launch.block = required;
    }
    launch.dynamic_shared = 16 << 10;
    launch.limits.warp_instructions = 3_000_000;
    let mut pointers = 0;
    let uses = program.parameter_uses();
    for (number, (_, input)) in (0u32..).zip(kernel.inputs()) {
        let mut bytes = vec![0; input.bytes as usize];
        for used in uses.iter().filter(|used| used.parameter == number) {
            let value = match used.class {
                Class::Pointer => {
                    pointers += 1;
                    memory.parameter(pointers).address()
                }
                Class::Float(ptx_syntax::Type::F64) => 1.5f64.to_bits(),
                Class::Float(_) => u64::from(1.5f32.to_bits()),
                _ if used.bytes == 8 && input.pointer.is_some() => {
                    pointers += 1;
                    memory.parameter(pointers).address()
                }
                _ => 37,
            };
            let at = used.offset as usize;
            if let Some(slot) = bytes.get_mut(at..at + used.bytes as usize) {
                slot.copy_from_slice(&value.to_le_bytes()[..used.bytes as usize]);
            }
        }
        launch.parameters.push(bytes);
    }
    launch
}
