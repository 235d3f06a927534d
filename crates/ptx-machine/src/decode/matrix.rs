//! Decodes warp-level instructions: PTX ISA 9.7.13 and 9.7.14 "Warp Level Matrix Multiply-Accumulate Instructions".

use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Space, Type};

use super::{Body, Decoder};
use crate::op::*;

fn collective(kind: CollectiveKind) -> Collective {
    Collective {
        kind,
        mask: None,
        inputs: Vec::new(),
        predicate: None,
        outputs: Vec::new(),
        predicate_out: None,
        addr: None,
    }
}

/// The shape that a modifier specifies.
fn shape(instruction: &Instruction) -> Option<(u32, u32, u32)> {
    instruction.form.modifiers.iter().find_map(|modifier| {
        let text = modifier.text().strip_prefix('m')?;
        let (m, rest) = text.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
    })
}

impl<'m> Decoder<'m> {
    pub(super) fn together(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let op = match form.opcode {
            Opcode::Activemask => return Some(Op::ActiveMask { d: self.register(instruction.operands.first()?)? }),
            Opcode::Bar | Opcode::Barrier => return self.barrier(body, instruction),
            Opcode::Shfl => self.shuffle(body, instruction)?,
            Opcode::Vote => self.vote(body, instruction)?,
            Opcode::Match => {
                let bits = form.ty()?.bits();
                let [first, a, mask] = &*instruction.operands else { return None };
                let all = form.has(Modifier::All);
                let (d, predicate_out) = self.result_and_predicate(first)?;
                Collective {
                    mask: Some(self.source(body, mask, Type::B32)?),
                    inputs: vec![self.source(body, a, form.ty()?)?],
                    outputs: vec![d],
                    predicate_out,
                    ..collective(CollectiveKind::Match { bits, all })
                }
            }
            Opcode::Redux => {
                let op = form.modifiers.iter().find_map(|modifier| {
                    Some(match modifier {
                        Modifier::Add => AtomOp::Add,
                        Modifier::Min => AtomOp::Min,
                        Modifier::Max => AtomOp::Max,
                        Modifier::And => AtomOp::And,
                        Modifier::Or => AtomOp::Or,
                        Modifier::Xor => AtomOp::Xor,
                        _ => return None,
                    })
                })?;
                let ty = form.ty().filter(|ty| ty.bits() == 32 && !ty.is_float())?;
                let [d, a, mask] = &*instruction.operands else { return None };
                Collective {
                    mask: Some(self.source(body, mask, Type::B32)?),
                    inputs: vec![self.source(body, a, ty)?],
                    outputs: vec![Some(self.register(d)?)],
                    ..collective(CollectiveKind::Reduce { op, signed: ty.is_signed() })
                }
            }
            Opcode::Elect => {
                let [first, mask] = &*instruction.operands else { return None };
                let (d, predicate_out) = self.result_and_predicate(first)?;
                Collective {
                    mask: Some(self.source(body, mask, Type::B32)?),
                    outputs: vec![d],
                    predicate_out,
                    ..collective(CollectiveKind::Elect)
                }
            }
            Opcode::Mma => self.mma(body, instruction)?,
            Opcode::Wmma => self.wmma(body, instruction)?,
            Opcode::Ldmatrix | Opcode::Stmatrix => self.ldmatrix(body, instruction)?,
            _ => return None,
        };
        Some(Op::Collective(Box::new(op)))
    }

    /// `d`, `d|p`, `_|p`
    fn result_and_predicate(&self, operand: &Operand) -> Option<(Option<u32>, Option<u32>)> {
        match operand {
            Operand::Pair(pair) => Some((self.register_or_sink(&pair.0)?, self.register_or_sink(&pair.1)?)),
            one => Some((self.register_or_sink(one)?, None)),
        }
    }

    fn shuffle(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Collective> {
        let form = &*instruction.form;
        let kind = match form.modifiers[..] {
            [Modifier::Sync, Modifier::Up] => ShuffleKind::Up,
            [Modifier::Sync, Modifier::Down] => ShuffleKind::Down,
            [Modifier::Sync, Modifier::Bfly] => ShuffleKind::Butterfly,
            [Modifier::Sync, Modifier::Idx] => ShuffleKind::Index,
            _ => return None,
        };
        let [first, a, b, c, mask] = &*instruction.operands else { return None };
        let (d, predicate_out) = self.result_and_predicate(first)?;
        let mut source = |operand| self.source(body, operand, Type::B32);
        Some(Collective {
            inputs: vec![source(a)?, source(b)?, source(c)?],
            mask: Some(source(mask)?),
            outputs: vec![d],
            predicate_out,
            ..collective(CollectiveKind::Shuffle(kind))
        })
    }

    fn vote(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Collective> {
        let form = &*instruction.form;
        let kind = match form.modifiers[..] {
            [Modifier::Sync, Modifier::All] => VoteKind::All,
            [Modifier::Sync, Modifier::Any] => VoteKind::Any,
            [Modifier::Sync, Modifier::Uni] => VoteKind::Uniform,
            [Modifier::Sync, Modifier::Ballot] => VoteKind::Ballot,
            _ => return None,
        };
        let [d, a, mask] = &*instruction.operands else { return None };
        let register = self.register(d)?;
        let is_ballot = kind == VoteKind::Ballot;
        Some(Collective {
            predicate: Some(self.predicate(a)?),
            mask: Some(self.source(body, mask, Type::B32)?),
            outputs: is_ballot.then_some(Some(register)).into_iter().collect(),
            predicate_out: (!is_ballot).then_some(register),
            ..collective(CollectiveKind::Vote(kind))
        })
    }

    fn barrier(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        if form.has(Modifier::Warp) {
            let mask = self.source(body, instruction.operands.first()?, Type::B32)?;
            let op = Collective { mask: Some(mask), ..collective(CollectiveKind::WarpBarrier) };
            return Some(Op::Collective(Box::new(op)));
        }
        if form.has(Modifier::Cluster) {
            return None;
        }
        let mut operands = &instruction.operands[..];
        let always = PredicateSrc::Constant(true);
        let mut barrier =
            Barrier { kind: BarrierKind::Sync, id: Src::Imm(0), count: None, predicate: always, output: None };
        if form.has(Modifier::Arrive) {
            barrier.kind = BarrierKind::Arrive;
        } else if form.has(Modifier::Red) {
            barrier.kind = match () {
                () if form.has(Modifier::Popc) => BarrierKind::Popc,
                () if form.has(Modifier::And) => BarrierKind::And,
                () => BarrierKind::Or,
            };
            let (d, rest) = operands.split_first()?;
            let (predicate, rest) = rest.split_last()?;
            barrier.output = Some(self.register(d)?);
            barrier.predicate = self.predicate(predicate)?;
            operands = rest;
        } else if !form.has(Modifier::Sync) {
            return None;
        }
        barrier.id = self.source(body, operands.first()?, Type::U32)?;
        barrier.count = match operands.get(1) {
            Some(count) => Some(self.source(body, count, Type::U32)?),
            None => None,
        };
        Some(Op::Barrier(Box::new(barrier)))
    }

    fn fragment(&mut self, body: &Body<'m>, operand: &Operand, ty: Type) -> Option<Vec<Src>> {
        let parts = match operand {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        parts.iter().map(|part| self.source(body, part, if ty == Type::F64 { Type::F64 } else { Type::B32 })).collect()
    }

    fn mma(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Collective> {
        use Modifier::{Aligned, And, Col, Popc, Row, Satfinite, Sync, Xor};
        let form = &*instruction.form;
        let shape = shape(instruction)?;
        let types: [Type; 4] = form.types[..].try_into().ok()?;
        let is_plain = |modifier: &Modifier| {
            matches!(modifier, Sync | Aligned | Row | Col | Satfinite | And | Xor | Popc)
                || modifier.text().starts_with('m')
        };
        // All shapes but the oldest (8×8×4) only support row-major `a` and column-major `b`.
        let layouts: Vec<_> = form.modifiers.iter().filter(|modifier| matches!(modifier, Row | Col)).collect();
        let [d, a, b, c] = &*instruction.operands else { return None };
        let known = matches!(
            (types[1], shape),
            (Type::F16, (16, 8, 8 | 16))
                | (Type::Bf16, (16, 8, 8 | 16))
                | (Type::Tf32, (16, 8, 4 | 8))
                | (Type::F64, (8, 8, 4))
                | (Type::S8 | Type::U8, (8, 8, 16) | (16, 8, 16 | 32))
        );
        if !known || layouts != [&Row, &Col] || !form.modifiers.iter().all(is_plain) {
            return None;
        }
        let matrix = Matrix { shape, is_wmma: false, types, saturates: form.has(Satfinite), logic: None };
        self.matrix(body, matrix, [d, a, b, c])
    }

    fn matrix(&mut self, body: &Body<'m>, matrix: Matrix, [d, a, b, c]: [&Operand; 4]) -> Option<Collective> {
        let outputs = match d {
            Operand::Vector(parts) => parts.iter().map(|part| self.register(part).map(Some)).collect::<Option<_>>()?,
            one => vec![Some(self.register(one)?)],
        };
        let [_, a_type, b_type, c_type] = matrix.types;
        let mut inputs = self.fragment(body, a, a_type)?;
        inputs.extend(self.fragment(body, b, b_type)?);
        inputs.extend(self.fragment(body, c, c_type)?);
        Some(Collective { inputs, outputs, ..collective(CollectiveKind::Matrix(matrix)) })
    }

    fn wmma(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Collective> {
        let form = &*instruction.form;
        let shape = shape(instruction)?;
        let row_major = form.has(Modifier::Row);
        if form.has(Modifier::Mma) {
            let types: [Type; 4] = match form.types[..] {
                // `wmma.mma…f32.f16` names the types of `d` and `c`; `a` and `b` are `f16`.
                [d, c] if matches!(d, Type::F16 | Type::F32) => [d, Type::F16, Type::F16, c],
                [d, a, b, c] => [d, a, b, c],
                _ => return None,
            };
            let known = matches!(types[1], Type::F16 | Type::Bf16 | Type::S8 | Type::U8)
                && shape.0 * shape.1 == 256
                && shape.2 == 16;
            let [d, a, b, c] = &*instruction.operands else { return None };
            let matrix = Matrix { shape, is_wmma: true, types, saturates: form.has(Modifier::Satfinite), logic: None };
            return if known { self.matrix(body, matrix, [d, a, b, c]) } else { None };
        }
        let ty = form.ty()?;
        let known = matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::S8 | Type::U8 | Type::S32);
        if !known || shape.0 * shape.1 != 256 || shape.2 != 16 {
            return None;
        }
        let (registers, address, stride) = match (&*instruction.operands, form.has(Modifier::Load)) {
            ([d, address, stride @ ..], true) => (d, address, stride),
            ([address, d, stride @ ..], false) => (d, address, stride),
            _ => return None,
        };
        let which =
            match form.modifiers.iter().find(|m| matches!(m, Modifier::A | Modifier::B | Modifier::C | Modifier::D))? {
                Modifier::A => 'a',
                Modifier::B => 'b',
                Modifier::C => 'c',
                _ => 'd',
            };
        let fragment = Fragment { shape, which, row_major, ty, space: form.space() };
        let (rows, columns) = fragment.extent();
        let default_stride = if row_major { columns } else { rows };
        let stride = match stride {
            [] => Src::Imm(u64::from(default_stride)),
            [stride] => self.source(body, stride, Type::U32)?,
            _ => return None,
        };
        let parts = match registers {
            Operand::Vector(parts) => &parts[..],
            _ => return None,
        };
        let addr = Some(self.address(body, address)?);
        if form.has(Modifier::Load) {
            let outputs = parts.iter().map(|part| self.register(part).map(Some)).collect::<Option<_>>()?;
            let kind = CollectiveKind::LoadFragment(fragment);
            return Some(Collective { inputs: vec![stride], outputs, addr, ..collective(kind) });
        }
        let mut inputs = vec![stride];
        inputs.extend(parts.iter().map(|part| self.source(body, part, Type::B32)).collect::<Option<Vec<_>>>()?);
        Some(Collective { inputs, addr, ..collective(CollectiveKind::StoreFragment(fragment)) })
    }

    fn ldmatrix(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Collective> {
        let form = &*instruction.form;
        let count = match () {
            () if form.has(Modifier::X1) => 1,
            () if form.has(Modifier::X2) => 2,
            () if form.has(Modifier::X4) => 4,
            () => return None,
        };
        let is_classic = form.has(Modifier::Shape88) && form.ty() == Some(Type::B16) && form.types.len() == 1;
        if !is_classic || !matches!(form.space(), Space::Shared | Space::Generic) {
            return None;
        }
        let transposed = form.has(Modifier::Trans);
        let generic = form.space() == Space::Generic;
        let [first, second] = &*instruction.operands else { return None };
        let is_load = form.opcode == Opcode::Ldmatrix;
        let (registers, address) = if is_load { (first, second) } else { (second, first) };
        let parts = match registers {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        if parts.len() != count as usize {
            return None;
        }
        let mut addr = self.address(body, address)?;
        if !generic {
            addr.narrow = true;
        }
        let addr = Some(addr);
        if is_load {
            let outputs = parts.iter().map(|part| self.register(part).map(Some)).collect::<Option<_>>()?;
            return Some(Collective { outputs, addr, ..collective(CollectiveKind::LoadMatrix { count, transposed }) });
        }
        let inputs = parts.iter().map(|part| self.source(body, part, Type::B32)).collect::<Option<_>>()?;
        Some(Collective { inputs, addr, ..collective(CollectiveKind::StoreMatrix { count, transposed }) })
    }
}

impl Fragment {
    /// Number of rows and columns.
    pub fn extent(&self) -> (u32, u32) {
        let (m, n, k) = self.shape;
        match self.which {
            'a' => (m, k),
            'b' => (k, n),
            _ => (m, n),
        }
    }
}
