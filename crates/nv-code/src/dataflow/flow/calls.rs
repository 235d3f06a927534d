//! Calls, and the values that were stored to their parameters.

use std::collections::HashMap;

use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg};

use super::Flow;
use crate::dataflow::flow::operands::{parts, register};
use crate::ptx::PtxFunction;

/// A call with its arguments in order; an argument that is not one register is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub instruction: usize,
    /// `None` for an indirect call.
    pub callee: Option<String>,
    pub arguments: Vec<Option<Reg>>,
    /// For arguments that are structures: the argument's number and a register stored to one of its members.
    pub members: Vec<(usize, Reg)>,
}

impl Flow<'_> {
    /// All calls of the function, with the values stored to their parameters.
    pub fn calls(&self) -> &[Call] {
        self.calls.get_or_init(|| calls(self.function))
    }
}

/// By parameter name: the registers stored to its parts; `None` for a part that is not a register.
type Stored<'f> = HashMap<&'f str, Vec<Option<Reg>>>;

fn calls(function: &PtxFunction) -> Vec<Call> {
    let mut stored: Stored<'_> = HashMap::new();
    let mut calls = Vec::new();
    for (index, instruction) in function.instructions.iter().enumerate() {
        match instruction.opcode() {
            Opcode::St if instruction.has(Modifier::Param) => {
                let name = instruction.address().and_then(|address| function.base_name(&address.base));
                if let (Some(name), Some(value)) = (name, instruction.operands.get(1)) {
                    stored.entry(name).or_default().extend(parts(value).iter().map(register));
                }
            }
            Opcode::Call => {
                calls.push(call(index, instruction, function, &stored));
                stored.clear();
            }
            _ => {}
        }
    }
    calls
}

/// Reads `call.uni (retval0), _Z1fPf, (param0, param1)`, or the indirect form with a register and a prototype.
fn call(index: usize, instruction: &Instruction, function: &PtxFunction, stored: &Stored<'_>) -> Call {
    let inputs = instruction.call().map_or(&[][..], |call| call.inputs);
    let values = || {
        inputs.iter().map(|input| match input {
            Operand::Variable(variable, _) => stored.get(&*function.variable(*variable).name),
            Operand::Symbol(name, _) => stored.get(&**name),
            _ => None,
        })
    };
    Call {
        instruction: index,
        callee: crate::dataflow::callee(instruction).map(str::to_string),
        arguments: values().map(|values| values?.first().copied().flatten()).collect(),
        members: values()
            .enumerate()
            .filter_map(|(number, values)| Some((number, values.filter(|values| values.len() > 1)?)))
            .flat_map(|(number, values)| values.iter().flatten().map(move |value| (number, *value)))
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
        let flow = Flow::new(&function);
        let calls = flow.calls();
        assert_eq!(calls[0].callee.as_deref(), Some("_Z1fPfi"));
        assert_eq!(calls[0].arguments, [function.register_named("%rd1"), None]);
        assert_eq!((calls[1].callee.as_deref(), calls[1].arguments.len()), (None, 1));
    }
}
