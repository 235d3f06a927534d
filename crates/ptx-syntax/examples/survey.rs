//! Lists the unknown words in a set of PTX files: `cargo run --release --example survey -- FILES…`

use std::collections::BTreeMap;
use std::time::Instant;

use ptx_syntax::{Graph, Loops, Module, Operand};

fn main() {
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let (mut functions, mut instructions, mut bytes, mut deepest) = (0, 0, 0, 0);
    let (mut irreducible, mut undeclared) = (0, 0);
    let start = Instant::now();
    for path in std::env::args().skip(1) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        bytes += text.len();
        let module = match Module::parse(&text) {
            Ok(module) => module,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        for function in &module.functions {
            functions += 1;
            instructions += function.instructions.len();
            undeclared += function.registers.iter().filter(|register| register.ty.is_none()).count();
            for instruction in &function.instructions {
                let is_opaque = instruction.operands.iter().any(|operand| matches!(operand, Operand::Opaque(_)));
                if !instruction.form.is_known() || is_opaque {
                    *unknown
                        .entry(format!("{} {}", instruction.form.text, if is_opaque { "(operand)" } else { "" }))
                        .or_default() += 1;
                }
            }
            let graph = Graph::new(function);
            graph.post_dominators();
            let loops = Loops::new(&graph, &graph.dominators());
            deepest = deepest.max(loops.all.iter().map(|info| info.depth).max().unwrap_or(0));
            irreducible += usize::from(loops.has_irreducible);
        }
    }
    println!(
        "{bytes} bytes, {functions} functions, {instructions} instructions in {:?}; loops nest {deepest} deep, {irreducible} irreducible; {undeclared} registers undeclared",
        start.elapsed()
    );
    for (form, count) in unknown {
        println!("unknown: {form} ({count})");
    }
}
