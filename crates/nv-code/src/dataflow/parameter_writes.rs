//! Writes to the memory of a kernel's parameters, which is constant.
//!
//! The address of a `__grid_constant__` parameter is made by `cvta.param`. The compiler rejects a write that it sees in the source; one
//! to a `mutable` member, or through a cast, it compiles, and what that does is undefined. The address is followed through registers,
//! calls and returns; whatever may be computed of it counts as one.

use std::collections::{HashMap, HashSet};

use ptx_syntax::{Address, AddressBase, Instruction, Modifier, Opcode, Operand, ParameterPlace, Reg, Space, Var};

use crate::dataflow::callee;
use crate::ptx::{PtxFunction, PtxModule};

/// Functions without a body that write to nothing that they are given.
const READERS: [&str; 2] = ["vprintf", "__assertfail"];

/// Limit on rounds over all functions; each finds the addresses of one more level of calls at least.
const MAX_ROUNDS: usize = 16;

/// Whether a kernel, or a function that it calls, may write to the memory of one of its parameters, or hands its address where that
/// cannot be followed.
pub fn writes_parameters(ptx: &PtxModule, kernel: &str) -> bool {
    let mut all = Addresses { ptx, of: HashMap::new(), has_new: false };
    let functions = reached(ptx, kernel);
    if !functions.iter().any(|function| function.instructions.iter().any(makes_address)) {
        return false;
    }
    for _ in 0..MAX_ROUNDS {
        all.has_new = false;
        if functions.iter().any(|function| all.writes(function)) {
            return true;
        }
        if !all.has_new {
            return false;
        }
    }
    true
}

/// A kernel with the functions that it calls by name.
fn reached<'p>(ptx: &'p PtxModule, kernel: &str) -> Vec<&'p PtxFunction> {
    let (mut found, mut seen): (Vec<&PtxFunction>, HashSet<&str>) = (Vec::new(), HashSet::new());
    let mut open: Vec<&str> = vec![kernel];
    while let Some(name) = open.pop() {
        let Some(function) = ptx.function(name).filter(|function| seen.insert(&*function.name)) else { continue };
        open.extend(function.instructions.iter().filter_map(callee));
        found.push(function);
    }
    found
}

fn makes_address(instruction: &Instruction) -> bool {
    instruction.opcode() == Opcode::Cvta && instruction.has(Modifier::Param) && !instruction.has(Modifier::To)
}

/// What holds an address of a parameter in one function.
#[derive(Default)]
struct Held {
    registers: HashSet<Reg>,
    /// Parameters, return values, and those of calls.
    variables: HashSet<Var>,
}

struct Addresses<'p> {
    ptx: &'p PtxModule,
    of: HashMap<&'p str, Held>,
    has_new: bool,
}

impl<'p> Addresses<'p> {
    /// Notes what holds an address in a function, and whether something is written there.
    fn writes(&mut self, function: &'p PtxFunction) -> bool {
        function.instructions.iter().any(|instruction| self.step(function, instruction))
    }

    fn step(&mut self, function: &'p PtxFunction, instruction: &'p Instruction) -> bool {
        let operands = &instruction.operands;
        match instruction.opcode() {
            _ if makes_address(instruction) => self.note(function, instruction),
            Opcode::Call => return self.call(function, instruction),
            Opcode::Ld => {
                let holds = instruction.form.space() == Space::Param
                    && instruction
                        .address()
                        .and_then(variable)
                        .is_some_and(|from| self.held(function).variables.contains(&from));
                if holds {
                    self.note(function, instruction);
                }
            }
            opcode if is_write(opcode) => {
                if instruction.address().is_some_and(|address| self.is_held(function, address)) {
                    return true;
                }
                let is_stored = operands.iter().skip(1).any(|operand| self.holds(function, operand));
                let to = instruction.address().and_then(variable).filter(|_| instruction.form.space() == Space::Param);
                match to {
                    Some(to) if is_stored => self.note_variable(function, to),
                    _ => return is_stored,
                }
            }
            // What is read there is no address, and neither is what a comparison finds.
            Opcode::Ldu | Opcode::Setp | Opcode::Isspacep => {}
            _ => {
                if operands.iter().skip(1).any(|operand| self.holds(function, operand)) {
                    self.note(function, instruction);
                }
            }
        }
        false
    }

    /// Hands addresses to the function that is called, and back.
    fn call(&mut self, function: &'p PtxFunction, instruction: &'p Instruction) -> bool {
        let Some(call) = instruction.call() else { return false };
        let given: Vec<u32> =
            (0_u32..).zip(call.inputs).filter(|(_, it)| self.holds(function, it)).map(|(at, _)| at).collect();
        let Some(called) = callee(instruction) else { return !given.is_empty() };
        let Some(called) = self.ptx.function(called) else { return !given.is_empty() && !READERS.contains(&called) };
        for (variable, place) in called.inputs().filter_map(|(variable, it)| Some((variable, it.parameter?))) {
            if given.iter().any(|at| place == ParameterPlace::Input(*at)) {
                self.note_variable(called, variable);
            }
        }
        if called.outputs().any(|(variable, _)| self.held(called).variables.contains(&variable)) {
            for output in call.outputs {
                match output {
                    Operand::Variable(variable, _) => self.note_variable(function, *variable),
                    Operand::Reg(register) => self.note_register(function, *register),
                    _ => {}
                }
            }
        }
        false
    }

    fn held(&mut self, function: &'p PtxFunction) -> &mut Held {
        self.of.entry(&function.name).or_default()
    }

    fn is_held(&mut self, function: &'p PtxFunction, address: &Address) -> bool {
        matches!(address.base, AddressBase::Reg(register) if self.held(function).registers.contains(&register))
    }

    fn holds(&mut self, function: &'p PtxFunction, operand: &Operand) -> bool {
        let held = self.held(function);
        match operand {
            Operand::Reg(register) => held.registers.contains(register),
            Operand::Variable(variable, _) => held.variables.contains(variable),
            Operand::Vector(all) | Operand::List(all) => {
                all.iter().any(|one| matches!(one, Operand::Reg(register) if held.registers.contains(register)))
            }
            _ => false,
        }
    }

    fn note(&mut self, function: &'p PtxFunction, instruction: &Instruction) {
        instruction.for_each_def(&mut |register| self.note_register(function, register));
    }

    fn note_register(&mut self, function: &'p PtxFunction, register: Reg) {
        let is_new = self.held(function).registers.insert(register);
        self.has_new |= is_new;
    }

    fn note_variable(&mut self, function: &'p PtxFunction, variable: Var) {
        let is_new = self.held(function).variables.insert(variable);
        self.has_new |= is_new;
    }
}

fn is_write(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::St | Opcode::Atom | Opcode::Red | Opcode::Cp | Opcode::Stmatrix | Opcode::Multimem)
}

fn variable(address: &Address) -> Option<Var> {
    match address.base {
        AddressBase::Variable(variable) => Some(variable),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(body: &str) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .func (.param .b64 r) shift(.param .b64 a) {{ .reg .b64 %rd<4>; ld.param.u64 %rd1, [a]; add.s64 %rd2, %rd1, 8; st.param.b64 [r], %rd2; ret; }}\n\
             .func set(.param .b64 a, .param .b64 b) {{ .reg .b64 %rd<4>; ld.param.u64 %rd1, [b]; st.u32 [%rd1], 1; ret; }}\n\
             .func get(.param .b64 a) {{ .reg .b64 %rd<4>; .reg .b32 %r<4>; ld.param.u64 %rd1, [a]; ld.u32 %r1, [%rd1]; ret; }}\n\
             .entry k(.param .align 8 .b8 p[32], .param .u64 out) {{\n.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>; .local .align 8 .b8 depot[16];\n\
             ld.param.u64 %rd8, [out];\nmov.b64 %rd1, p;\ncvta.param.u64 %rd2, %rd1;\n{body}\nret;\n}}\n"
        );
        writes_parameters(&PtxModule::parse(&text).unwrap(), "k")
    }

    #[test]
    fn writes_through_addresses_of_parameters_are_found() {
        let call = |callee: &str, inputs: &str| {
            format!(
                "{{ .param .b64 param0; .param .b64 param1; st.param.b64 [param0], %rd2; st.param.b64 [param1], %rd8; call.uni {callee}, ({inputs}); }}"
            )
        };
        for body in [
            "st.u32 [%rd2+4], 1;".to_string(),
            "add.s64 %rd3, %rd2, 8; selp.b64 %rd4, %rd3, %rd8, %p1; st.f32 [%rd4], 0f00000000;".to_string(),
            "atom.add.u32 %r1, [%rd2], 1;".to_string(),
            "red.add.u32 [%rd2], 1;".to_string(),
            // Where it is not followed to.
            "st.local.u64 [depot], %rd2;".to_string(),
            call("set", "param1, param0"),
            call("unknown", "param0"),
            call("%rd8", "param0"),
            "{ .param .b64 param0; .param .b64 retval0; st.param.b64 [param0], %rd2; call.uni (retval0), shift, (param0); ld.param.b64 %rd5, [retval0]; } st.u32 [%rd5], 2;".to_string(),
        ] {
            assert!(writes(&body), "{body}");
        }
        for body in [
            "ld.u64 %rd3, [%rd2]; st.u32 [%rd3], 1;".to_string(),
            "st.u32 [%rd8], 1;".to_string(),
            "setp.eq.s64 %p1, %rd2, %rd8; selp.b32 %r1, 1, 2, %p1; st.u32 [%rd8], %r1;".to_string(),
            call("set", "param0, param1"),
            call("get", "param0"),
            call("vprintf", "param0"),
        ] {
            assert!(!writes(&body), "{body}");
        }
    }
}
