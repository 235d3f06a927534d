//! Calls, and the values that were stored to their parameters.

use std::collections::HashMap;

use super::Flow;
use crate::dataflow::flow::operands::registers;
use crate::ptx::Instruction;

/// A call, with the values of its arguments in order; an argument that is not one register is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub instruction: usize,
    /// `None` for a call through a pointer.
    pub callee: Option<String>,
    pub arguments: Vec<Option<String>>,
    /// Members of structures among the arguments, with the number of the argument: all that are registers.
    pub members: Vec<(usize, String)>,
}

impl Flow<'_> {
    /// Calls, with the values that were stored to their parameters.
    pub fn calls(&self) -> Vec<Call> {
        let mut stored: HashMap<String, Vec<String>> = HashMap::new();
        let mut calls = Vec::new();
        for (index, instruction) in self.function.instructions.iter().enumerate() {
            if instruction.mnemonic() == "st" && instruction.has("param") {
                if let (Some(address), Some(value)) = (instruction.address(), instruction.operands.get(1)) {
                    stored.entry(address.base).or_default().extend(registers(value));
                }
            } else if instruction.mnemonic() == "call" {
                calls.push(call(index, instruction, &stored));
                stored.clear();
            }
        }
        calls
    }
}

/// `call.uni (retval0), _Z1fPf, (param0, param1)`, or with a register and a prototype.
fn call(index: usize, instruction: &Instruction, stored: &HashMap<String, Vec<String>>) -> Call {
    let mut operands = instruction.operands.iter();
    let target = operands.by_ref().find(|operand| !operand.starts_with('('));
    let names = operands.next().map(|list| list.trim_matches(['(', ')', ' ']).to_string()).unwrap_or_default();
    let values = names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(|name| stored.get(name));
    let is_register = |value: &&String| value.starts_with('%');
    Call {
        instruction: index,
        callee: target.filter(|target| !target.starts_with('%')).cloned(),
        arguments: values.clone().map(|values| values?.first().filter(is_register).cloned()).collect(),
        members: values
            .enumerate()
            .filter_map(|(number, values)| Some((number, values.filter(|values| values.len() > 1)?)))
            .flat_map(|(number, values)| values.iter().filter(is_register).map(move |value| (number, value.clone())))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::function;
    use super::*;

    #[test]
    fn calls_know_their_arguments() {
        let function = function(
            "add.u64 %rd1, %SP, 16;\n{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\n.param .b32 param1;\nst.param.b32 [param1], 3;\n\
             .param .b32 retval0;\ncall.uni (retval0), _Z1fPfi, (param0, param1);\n}\n\
             {\nst.param.b64 [param0], %rd1;\ncall (retval0), %rd7, (param0), prototype_0;\n}",
        );
        let calls = Flow::new(&function).calls();
        assert_eq!(calls[0].callee.as_deref(), Some("_Z1fPfi"));
        assert_eq!(calls[0].arguments, [Some("%rd1".to_string()), None]);
        assert_eq!((calls[1].callee.as_deref(), calls[1].arguments.len()), (None, 1));
    }
}
