//! Registers that an instruction reads and writes.

use crate::module::{Address, AddressBase, Instruction, Operand, Reg};
use crate::words::{Modifier, Opcode};

/// The role of the first operand.
#[derive(PartialEq, Eq)]
enum First {
    /// Written only: the destination.
    Written,
    /// Read only, like the other operands.
    Read,
    /// Written and read: the accumulators of `wgmma`.
    Both,
}

impl Instruction {
    /// Calls `visit` with each destination register; a guarded instruction may not write it.
    pub fn for_each_def(&self, visit: &mut dyn FnMut(Reg)) {
        match self.opcode() {
            Opcode::Call => {
                for operand in self.call().map_or(&[][..], |call| call.outputs) {
                    registers_of_value(operand, visit);
                }
            }
            _ if self.first_operand() != First::Read => {
                if let Some(first) = self.operands.first() {
                    registers_of_value(first, visit);
                }
            }
            _ => {}
        }
    }

    /// Calls `visit` with each source register: operands, address bases, the guard. A register used twice is visited
    /// twice.
    pub fn for_each_use(&self, visit: &mut dyn FnMut(Reg)) {
        if let Some(guard) = self.guard {
            visit(guard.register);
        }
        if self.opcode() == Opcode::Call {
            if let Some(call) = self.call() {
                call.inputs.iter().for_each(|operand| registers_of(operand, visit));
                registers_of(call.callee, visit);
            }
            return;
        }
        let first = self.first_operand();
        for (index, operand) in self.operands.iter().enumerate() {
            if index > 0 || first != First::Written {
                registers_of(operand, visit);
            } else {
                registers_of_address(operand, visit);
            }
        }
    }

    /// Destination registers.
    pub fn defs(&self) -> Vec<Reg> {
        let mut registers = Vec::new();
        self.for_each_def(&mut |register| registers.push(register));
        registers
    }

    /// Source registers.
    pub fn uses(&self) -> Vec<Reg> {
        let mut registers = Vec::new();
        self.for_each_use(&mut |register| registers.push(register));
        registers
    }

    fn first_operand(&self) -> First {
        use Opcode::*;
        match self.opcode() {
            St | Red | Bra | Brx | Membar | Fence | Ret | Exit | Trap | Brkpt | Prefetch | Prefetchu | Cp
            | Stackrestore | Nanosleep | Discard | Applypriority | Stmatrix | Sust | Sured | Setmaxnreg | Pmevent
            | Griddepcontrol | Tensormap | Tcgen05 | Clusterlaunchcontrol | Call => First::Read,
            Bar | Barrier if !self.has(Modifier::Red) => First::Read,
            Mbarrier if self.has(Modifier::Init) || self.has(Modifier::Inval) || self.has(Modifier::ExpectTx) => {
                match self.operands.first() {
                    Some(Operand::Address(_)) | None => First::Read,
                    Some(_) => First::Written,
                }
            }
            Multimem if self.has(Modifier::Red) || self.has(Modifier::St) => First::Read,
            Wmma if self.has(Modifier::Store) => First::Read,
            Wgmma if self.has(Modifier::MmaAsync) => First::Both,
            Wgmma => First::Read,
            // For an unknown opcode, assume that the first operand is both read and written.
            Unknown => First::Both,
            _ => First::Written,
        }
    }
}

fn registers_of_address(operand: &Operand, visit: &mut dyn FnMut(Reg)) {
    match operand {
        Operand::Address(Address { base: AddressBase::Reg(register), .. }) => visit(*register),
        Operand::Bracket(parts) => parts.iter().for_each(|part| registers_of(part, visit)),
        _ => {}
    }
}

/// Registers in an operand's value, without those that only form an address.
fn registers_of_value(operand: &Operand, visit: &mut dyn FnMut(Reg)) {
    match operand {
        Operand::Reg(register) | Operand::NotReg(register) | Operand::NegReg(register) => visit(*register),
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().for_each(|part| registers_of_value(part, visit)),
        Operand::Pair(pair) => {
            registers_of_value(&pair.0, visit);
            registers_of_value(&pair.1, visit);
        }
        Operand::Opaque(opaque) => opaque.registers.iter().for_each(|register| visit(*register)),
        _ => {}
    }
}

fn registers_of(operand: &Operand, visit: &mut dyn FnMut(Reg)) {
    match operand {
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().for_each(|part| registers_of(part, visit)),
        Operand::Pair(pair) => {
            registers_of(&pair.0, visit);
            registers_of(&pair.1, visit);
        }
        Operand::Address(_) | Operand::Bracket(_) => registers_of_address(operand, visit),
        _ => registers_of_value(operand, visit),
    }
}
