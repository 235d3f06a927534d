//! The functions that a call may lead to, through pointers too.

use std::collections::BTreeSet;

use ptx_syntax::{AddressBase, Instruction, Linkage, Opcode, Operand};

use crate::dataflow::callee;
use crate::ptx::{PtxFunction, PtxModule};

/// Functions without a body that call nothing of the program: those of the compiler's and the device runtime begin with
/// the last two.
const RUNTIME: [&str; 3] = ["vprintf", "malloc", "free"];
const RUNTIME_PREFIXES: [&str; 2] = ["cuda", "__"];

/// The calls of a module.
pub struct PossibleCalls<'m> {
    module: &'m PtxModule,
    /// What a call through a pointer may enter: functions whose address the module takes, and those that other units see.
    entered_indirectly: BTreeSet<&'m str>,
}

impl<'m> PossibleCalls<'m> {
    pub fn new(module: &'m PtxModule) -> Self {
        let mut named: BTreeSet<&str> = module.initial_names.iter().map(String::as_str).collect();
        for function in &module.functions {
            for instruction in &function.instructions {
                let called = instruction.call().map(|call| std::ptr::from_ref(call.callee));
                let values = instruction.operands.iter().filter(|operand| called != Some(std::ptr::from_ref(*operand)));
                values.for_each(|operand| note_names(operand, &mut named));
            }
            named.extend(function.prototypes.iter().flat_map(|prototype| &prototype.targets).map(|name| &**name));
        }
        let entered_indirectly = module
            .functions
            .iter()
            .filter(|function| !function.is_entry)
            .filter(|function| function.linkage != Linkage::Internal || named.contains(&*function.name))
            .map(|function| &*function.name)
            .collect();
        Self { module, entered_indirectly }
    }

    /// The functions that run before one of the calls returns; `through_pointers` counts calls whose callee is not named.
    pub fn reached_by(
        &self,
        calls: impl Iterator<Item = &'m Instruction>,
        through_pointers: bool,
    ) -> BTreeSet<&'m str> {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&PtxFunction> = calls.flat_map(|call| self.entered_by(call, through_pointers)).collect();
        while let Some(function) = open.pop() {
            if reached.insert(&*function.name) {
                let calls = function.instructions.iter();
                open.extend(calls.flat_map(|call| self.entered_by(call, through_pointers)));
            }
        }
        reached
    }

    /// The functions that a call may enter.
    fn entered_by(&self, call: &'m Instruction, through_pointers: bool) -> Vec<&'m PtxFunction> {
        if call.opcode() != Opcode::Call {
            return Vec::new();
        }
        let functions = self.module.functions.iter().filter(|function| !function.is_entry);
        match callee(call) {
            Some(name) => match self.module.function(name) {
                Some(function) => vec![function],
                None if !through_pointers || is_of_runtime(name) => Vec::new(),
                // What another unit defines may call back all that it can name; an alias stands for any function.
                None => functions.collect(),
            },
            None if !through_pointers => Vec::new(),
            None => functions.filter(|function| self.entered_indirectly.contains(&*function.name)).collect(),
        }
    }
}

fn is_of_runtime(name: &str) -> bool {
    RUNTIME.contains(&name) || RUNTIME_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Notes the symbols in an operand.
fn note_names<'m>(operand: &'m Operand, named: &mut BTreeSet<&'m str>) {
    match operand {
        Operand::Symbol(name, _) => _ = named.insert(name),
        Operand::Address(address) => {
            if let AddressBase::Symbol(name) = &address.base {
                named.insert(name);
            }
        }
        Operand::Vector(parts) | Operand::List(parts) | Operand::Bracket(parts) => {
            parts.iter().for_each(|part| note_names(part, named));
        }
        Operand::Opaque(opaque) => named.extend(opaque.text.split(' ')),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `walk` calls through a pointer, `nested` calls `walk`, and `apart` is called by name alone.
    const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .func apart()\n{\nret;\n}\n\
        .func walk()\n{\n.reg .b64 %rd<2>;\nprototype_0 : .callprototype ()_ ();\ncall %rd1, (), prototype_0;\nret;\n}\n\
        .func nested()\n{\ncall.uni walk, ();\nret;\n}\n\
        .visible .entry k()\n{\n.reg .b64 %rd<2>;\nmov.u64 %rd1, nested;\ncall.uni apart, ();\ncall.uni walk, ();\nret;\n}\n";

    /// What the calls of a function reach.
    fn reached(ptx: &str, function: &str, through_pointers: bool) -> Vec<String> {
        let module = PtxModule::parse(ptx).unwrap();
        let calls = PossibleCalls::new(&module);
        let all = module.function(function).unwrap().instructions.iter();
        calls.reached_by(all, through_pointers).into_iter().map(str::to_string).collect()
    }

    #[test]
    fn calls_through_pointers_enter_what_has_its_address_taken() {
        assert_eq!(reached(PTX, "walk", true), ["nested", "walk"]);
        assert_eq!(reached(PTX, "walk", false), Vec::<String>::new());
        assert_eq!(reached(PTX, "k", false), ["apart", "walk"]);
        assert_eq!(reached(PTX, "apart", true), Vec::<String>::new());
    }

    #[test]
    fn tables_have_addresses_too() {
        let table = PTX.replace("mov.u64 %rd1, nested;\n", "").replace(
            ".address_size 64\n",
            ".address_size 64\n.func nested();\n.global .align 8 .u64 table[2] = {0, nested};\n",
        );
        assert_eq!(reached(&table, "walk", true), ["nested", "walk"]);
        let without = PTX.replace("mov.u64 %rd1, nested;\n", "");
        assert_eq!(reached(&without, "walk", true), Vec::<String>::new());
    }

    #[test]
    fn other_units_call_back_what_they_see() {
        let seen = PTX.replace("mov.u64 %rd1, nested;\n", "").replace(".func nested", ".visible .func nested");
        assert_eq!(reached(&seen, "walk", true), ["nested", "walk"]);
        let external = seen
            .replace("call.uni apart", "call.uni far")
            .replace(".func apart()\n{\nret;\n}\n", ".extern .func far();\n.func apart()\n{\nret;\n}\n");
        assert_eq!(reached(&external, "k", true), ["apart", "nested", "walk"]);
        let printing = external.replace("far", "vprintf");
        assert_eq!(reached(&printing, "k", true), ["nested", "walk"]);
    }
}
