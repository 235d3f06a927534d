//! Whether an edit changes the code of a kernel. The kernel may be at a different place in the text, among different
//! kernels.

use ptx_machine::Program;
use ptx_syntax::{Function, Module, Variable};

/// Whether both programs have the same instructions on the same variables, wherever they are in their texts.
pub(crate) fn is_same_code(module: &Module, other: &Module, before: &Program, after: &Program) -> bool {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.functions().collect(), after.functions().collect());
    if old != new {
        return false;
    }
    let find = |module: &'_ Module, name: &str| module.functions.iter().position(|function| &*function.name == name);
    let is_same = |name: &&str| match (find(module, name), find(other, name)) {
        (Some(old), Some(new)) => same_function(&module.functions[old], &other.functions[new]),
        (None, None) => true,
        _ => false,
    };
    let is_mentioned = |variable: &&Variable| {
        let functions = module.functions.iter().chain(&other.functions);
        functions.filter(|function| old.contains(&&*function.name)).any(|function| function.mentions(&variable.name))
    };
    let variables = |module: &'_ Module| -> Vec<_> {
        let mut all: Vec<_> = module.variables.iter().filter(is_mentioned).map(described).collect();
        all.sort();
        all
    };
    old.iter().all(is_same) && variables(module) == variables(other)
}

fn same_function(one: &Function, other: &Function) -> bool {
    let variables = |function: &Function| -> Vec<_> { function.variables.iter().map(described).collect() };
    let labels =
        |function: &Function| -> Vec<Option<u32>> { function.labels.iter().map(|label| label.instruction).collect() };
    let registers = |function: &Function| -> Vec<_> { function.registers.iter().map(|register| register.ty).collect() };
    let are_same = one
        .instructions
        .iter()
        .zip(&other.instructions)
        .all(|(a, b)| (&a.form, &a.guard, &a.operands) == (&b.form, &b.guard, &b.operands));
    one.instructions.len() == other.instructions.len()
        && are_same
        && variables(one) == variables(other)
        && labels(one) == labels(other)
        && registers(one) == registers(other)
        && one.branch_tables == other.branch_tables
        && one.required_threads == other.required_threads
}

/// A variable without its line. Initializers are compared as text, since they have no order.
fn described(variable: &Variable) -> (String, String) {
    let Variable { name, space, ty, vector, align, bytes, initial, .. } = variable;
    (name.to_string(), format!("{space:?} {ty:?} {vector} {align} {bytes} {initial:?}"))
}
