//! Decodes data movement, control flow and synchronization: PTX ISA 9.7.9 "Data Movement and Conversion Instructions",
//! 9.7.12 "Control Flow Instructions", 9.7.13 "Parallel Synchronization and Communication Instructions".

use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg, Space, Type};

use super::{Body, Decoder};
use crate::memory::{Class, PARAMETER_WINDOW, SHARED_WINDOW};
use crate::op::*;

impl<'m> Decoder<'m> {
    pub(super) fn data(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        match form.opcode {
            Opcode::Mov => self.mov(body, instruction),
            Opcode::Ld | Opcode::Ldu => self.load(body, instruction),
            Opcode::St => self.store(body, instruction),
            Opcode::Atom | Opcode::Red => self.atom(body, instruction),
            Opcode::Cvta => self.cvta(body, instruction),
            Opcode::Isspacep => {
                let [d, a] = &*instruction.operands else { return None };
                let (d, a) = (self.register(d)?, self.source(body, a, Type::U64)?);
                Some(Op::IsSpace { space: form.space(), d, a })
            }
            Opcode::Alloca => {
                let [d, a, rest @ ..] = &*instruction.operands else { return None };
                let align = match rest {
                    [Operand::Imm(align)] => u64::try_from(*align).ok()?,
                    [] => 8,
                    _ => return None,
                };
                Some(Op::Alloca {
                    d: self.register(d)?,
                    a: self.source(body, a, form.ty()?)?,
                    align: align.clamp(1, 4096),
                })
            }
            Opcode::Stacksave => Some(Op::StackSave { d: self.register(instruction.operands.first()?)? }),
            Opcode::Stackrestore => {
                Some(Op::StackRestore { a: self.source(body, instruction.operands.first()?, form.ty()?)? })
            }
            Opcode::Call => self.call(body, instruction),
            Opcode::Cp => self.copy(body, instruction),
            // The result is only a cache hint.
            Opcode::Createpolicy => {
                let d = self.register(instruction.operands.first()?)?;
                Some(Op::MoveAll { d: vec![d], a: vec![Src::Imm(0)] })
            }
            _ => None,
        }
    }

    fn mov(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let ty = instruction.form.ty()?;
        let [d, a] = &*instruction.operands else { return None };
        if ty == Type::Pred {
            let (d, a) = (self.register(d)?, self.predicate(a)?);
            return Some(Op::Predicate { logic: None, negate: false, d, a, b: a });
        }
        if ty.bits() > 64 {
            return None;
        }
        // `mov.b32 %r1, {};` has no parts.
        let part = |count: usize| match ty.bits().checked_div(count as u32)? {
            8 => Some(Type::B8),
            16 => Some(Type::B16),
            32 => Some(Type::B32),
            _ => None,
        };
        match (d, a) {
            (Operand::Vector(parts), Operand::Vector(sources)) => {
                let element = part(parts.len()).unwrap_or(ty);
                let d = parts.iter().map(|part| self.register(part)).collect::<Option<_>>()?;
                let a = sources.iter().map(|source| self.source(body, source, element)).collect::<Option<_>>()?;
                (parts.len() == sources.len()).then_some(Op::MoveAll { d, a })
            }
            (Operand::Vector(parts), a) => {
                let bits = part(parts.len())?.bits();
                let parts = parts.iter().map(|part| self.register_or_sink(part)).collect::<Option<_>>()?;
                Some(Op::Unpack { parts, a: self.source(body, a, ty)?, bits })
            }
            (d, Operand::Vector(sources)) => {
                let element = part(sources.len())?;
                let parts = sources.iter().map(|source| self.source(body, source, element)).collect::<Option<_>>()?;
                Some(Op::Pack { d: self.register(d)?, parts, bits: element.bits() })
            }
            (d, a) => Some(Op::MoveAll { d: vec![self.register(d)?], a: vec![self.source(body, a, ty)?] }),
        }
    }

    /// The parts of an access that loads, stores and atomics share.
    fn access(
        &mut self,
        body: &Body<'m>,
        instruction: &Instruction,
        address: &Operand,
        class: Class,
    ) -> Option<MemoryOperand> {
        let form = &*instruction.form;
        let ty = form.ty()?;
        if ty.bits() < 8 || ty.bits() > 64 || form.space() == Space::SharedCluster {
            return None;
        }
        Some(MemoryOperand {
            space: form.space(),
            bytes: ty.bytes(),
            addr: self.address(body, address)?,
            ty,
            class,
            polls: matches!(form.opcode, Opcode::Atom | Opcode::Red)
                || [Modifier::Volatile, Modifier::Relaxed, Modifier::Acquire]
                    .into_iter()
                    .any(|modifier| form.has(modifier)),
            extend: None,
        })
    }

    fn parts(operand: &Operand) -> &[Operand] {
        match operand {
            Operand::Vector(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    fn load(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        // An additional last operand may be a cache hint.
        let [first, address, ..] = &*instruction.operands else { return None };
        let parts = Self::parts(first);
        if parts.len() != form.vector() as usize {
            return None;
        }
        let d: Vec<Option<u32>> = parts.iter().map(|part| self.register_or_sink(part)).collect::<Option<_>>()?;
        let class =
            d.iter().flatten().map(|register| body.classes[*register as usize]).next().unwrap_or(Class::Unknown);
        let mut access = self.access(body, instruction, address, class)?;
        if access.ty.is_signed() {
            let to = d.iter().flatten().map(|register| self.register_bits(body, *register)).next().unwrap_or(64);
            access.extend = Some((access.ty.bits(), to));
        }
        Some(Op::Load { access: Box::new(access), d })
    }

    fn store(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let [address, value, ..] = &*instruction.operands else { return None };
        let parts = Self::parts(value);
        if parts.len() != form.vector() as usize || form.has(Modifier::Async) {
            return None;
        }
        let registers = parts.iter().filter_map(|part| match part {
            Operand::Reg(register) => body.classes.get(register.index()).copied(),
            _ => None,
        });
        // The class of the stored register decides how the bytes are compared; a constant has none.
        let class = registers.reduce(|one, other| if one == Class::Unknown { other } else { one });
        let access = self.access(body, instruction, address, class.unwrap_or(Class::Unknown))?;
        let a = parts.iter().map(|part| self.source(body, part, access.ty)).collect::<Option<_>>()?;
        Some(Op::Store { access: Box::new(access), a })
    }

    fn atom(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let (d, rest) = match form.opcode {
            Opcode::Atom => {
                let (d, rest) = instruction.operands.split_first()?;
                (self.register_or_sink(d)?, rest)
            }
            _ => (None, &instruction.operands[..]),
        };
        if form.vector() > 1 || form.has(Modifier::Async) {
            return None;
        }
        let op = form.modifiers.iter().find_map(|modifier| {
            Some(match modifier {
                Modifier::Add => AtomOp::Add,
                Modifier::Min => AtomOp::Min,
                Modifier::Max => AtomOp::Max,
                Modifier::Inc => AtomOp::Inc,
                Modifier::Dec => AtomOp::Dec,
                Modifier::And => AtomOp::And,
                Modifier::Or => AtomOp::Or,
                Modifier::Xor => AtomOp::Xor,
                Modifier::Exch => AtomOp::Exch,
                Modifier::Cas => AtomOp::Cas,
                _ => return None,
            })
        })?;
        let mut access = self.access(body, instruction, rest.first()?, Class::Integer)?;
        let ty = access.ty;
        if ty.is_float() {
            access.class = Class::Float(ty);
        }
        let is_arithmetic = matches!(op, AtomOp::Add | AtomOp::Min | AtomOp::Max);
        if ty.is_float() && !(is_arithmetic && crate::float::format_of(ty).is_some()) {
            return None;
        }
        let b = self.source(body, rest.get(1)?, ty)?;
        let c = if op == AtomOp::Cas { self.source(body, rest.get(2)?, ty)? } else { Src::Imm(0) };
        Some(Op::Atom { access: Box::new(access), op, d, b, c })
    }

    /// Generic addresses equal those of global and constant memory; the other spaces have windows.
    fn cvta(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let [d, a] = &*instruction.operands else { return None };
        let window = match form.space() {
            Space::Global | Space::Const => 0,
            Space::Shared => SHARED_WINDOW,
            // The machine's addresses of local memory are generic.
            Space::Local => 0,
            Space::Param if body.function.is_entry => PARAMETER_WINDOW,
            _ => return None,
        };
        let (d, a) = (self.register(d)?, self.source(body, a, form.ty()?)?);
        if form.ty()?.bits() != 64 {
            return None;
        }
        let window = if form.has(Modifier::To) { window.wrapping_neg() } else { window };
        let compute = Compute::Two(|d, a, b| {
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = a.wrapping_add(*b);
            }
        });
        Some(Op::Compute { compute, check: Check::None, d, a, b: Src::Imm(window), c: Src::Imm(0) })
    }

    /// Slots of the variables in a call's parameter list.
    fn slots(&self, body: &Body<'m>, list: &[Operand]) -> Option<Vec<Slot>> {
        let slot = |operand: &Operand| match operand {
            Operand::Variable(variable, 0) => {
                let info = body.function.variable(*variable);
                let is_parameter = info.space == Space::Param;
                let offset = body.offsets[variable.index()] as u32;
                is_parameter.then_some(Slot { offset, bytes: info.bytes as u32 })
            }
            _ => None,
        };
        list.iter().map(slot).collect()
    }

    fn call(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let call = instruction.call()?;
        let (inputs, outputs) = (self.slots(body, call.inputs)?, self.slots(body, call.outputs)?);
        let callee = match call.callee {
            Operand::Reg(Reg(register)) => Callee::Indirect(Src::Reg(*register)),
            Operand::Symbol(name, 0) => {
                let name = self.aliases.get(&**name).copied().unwrap_or(name);
                match self.code_by_name.get(name) {
                    Some(index) => Callee::Direct(*index),
                    None if self.is_declared_extern(name) => match name {
                        "vprintf" => Callee::Builtin(Builtin::Printf),
                        "malloc" => Callee::Builtin(Builtin::Malloc),
                        "free" => Callee::Builtin(Builtin::Free),
                        "__assertfail" => Callee::Builtin(Builtin::AssertFail),
                        _ => return Some(Op::NotSupported(format!("call of `{name}`").into())),
                    },
                    None => return Some(Op::NotSupported(format!("call of `{name}`").into())),
                }
            }
            _ => return None,
        };
        Some(Op::Call(Box::new(Call { callee, inputs, outputs })))
    }

    /// `cp.async` copies at once, so that waits for it have nothing to do.
    fn copy(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        if !form.has(Modifier::Async) || form.has(Modifier::Bulk) || form.has(Modifier::Mbarrier) {
            return None;
        }
        if form.has(Modifier::CommitGroup) || form.has(Modifier::WaitGroup) || form.has(Modifier::WaitAll) {
            return Some(Op::Nothing);
        }
        let [to, from, Operand::Imm(bytes), rest @ ..] = &*instruction.operands else { return None };
        let bytes = u32::try_from(*bytes).ok().filter(|bytes| matches!(bytes, 4 | 8 | 16))?;
        let (mut source_bytes, mut ignore) = (None, None);
        match rest {
            [] => {}
            [Operand::Reg(Reg(register)), ..] if body.function.register(Reg(*register)).ty == Some(Type::Pred) => {
                ignore = Some(PredicateSrc::Reg { register: *register, negated: false });
            }
            // With only a cache hint, the third operand has 64 bits.
            [hint] if form.has(Modifier::L2CacheHint) => drop(self.source(body, hint, Type::U64)?),
            [operand, ..] => source_bytes = Some(self.source(body, operand, Type::U32)?),
        }
        Some(Op::CopyAsync {
            to: self.address(body, to)?,
            from: self.address(body, from)?,
            bytes,
            source_bytes,
            ignore,
        })
    }
}
