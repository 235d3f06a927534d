//! What a kernel asks about the shape of its launch.

use ptx_machine::Program;
use ptx_syntax::{Linkage, Module, Operand, Space, SpecialRegister};

/// The dimensions of blocks and grid that a kernel reads, and whether a launch gives it shared memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub rows: bool,
    pub layers: bool,
    pub grid_rows: bool,
    pub grid_layers: bool,
    /// Without a dynamic part, an access beyond the shared variables is an error.
    pub has_dynamic_shared: bool,
}

impl Shape {
    pub fn of(module: &Module, program: &Program) -> Self {
        use SpecialRegister::{CtaidY, CtaidZ, NtidY, NtidZ, TidY, TidZ};
        let names: Vec<&str> = program.functions().collect();
        let functions = || module.functions.iter().filter(|function| names.contains(&&*function.name));
        let operands =
            || functions().flat_map(|function| &function.instructions).flat_map(|instruction| &instruction.operands);
        let asks = |wanted: &[SpecialRegister]| {
            operands().any(|operand| matches!(operand, Operand::Special(register) if wanted.contains(register)))
        };
        Self {
            rows: asks(&[TidY, NtidY]),
            layers: asks(&[TidZ, NtidZ]),
            grid_rows: asks(&[CtaidY]),
            grid_layers: asks(&[CtaidZ]),
            has_dynamic_shared: module.variables.iter().any(|variable| {
                let is_dynamic = variable.linkage == Linkage::Extern || variable.bytes == 0;
                variable.space == Space::Shared && is_dynamic
            }),
        }
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows || other.rows,
            layers: self.layers || other.layers,
            grid_rows: self.grid_rows || other.grid_rows,
            grid_layers: self.grid_layers || other.grid_layers,
            has_dynamic_shared: self.has_dynamic_shared || other.has_dynamic_shared,
        }
    }
}
