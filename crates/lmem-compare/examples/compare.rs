//! Compares all kernels of two PTX files:
//! `cargo run --release -p lmem-compare --example compare -- BEFORE.ptx AFTER.ptx [THREADS]`.
//! Prints what both versions execute, and what the first does alone. With one file, each kernel is compared with a copy that has one register more, which shows what cannot be compared.

use std::time::Instant;

use lmem_compare::{Alone, Outside, Terms, Versions};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let read = |path: &String| std::fs::read_to_string(path).unwrap_or_default();
    let Some(before) = arguments.first().map(read) else { return };
    let after = arguments.get(1).map_or_else(|| before.replace("\n\tret;", "\n\tmov.u32 %zz1, %tid.x;\n\tret;"), read);
    let threads = arguments.get(2).and_then(|threads| threads.parse().ok());
    let Some(versions) = Versions::new(&before, &after) else { return println!("no PTX") };
    for kernel in versions.kernels() {
        let start = Instant::now();
        let compared = versions.compare(kernel, Terms { threads, ..Terms::default() });
        println!("{:7.1} ms {kernel}: {}", start.elapsed().as_secs_f64() * 1e3, compared.results);
        let start = Instant::now();
        let counts = Alone::new(&before).and_then(|alone| alone.counts(kernel, Terms::default(), Outside::default()));
        println!("{:7.1} ms alone {counts:?}", start.elapsed().as_secs_f64() * 1e3);
        if let Some(executed) = compared.executed {
            println!("  before {:?}\n  after  {:?}", executed.before, executed.after);
        }
    }
}
