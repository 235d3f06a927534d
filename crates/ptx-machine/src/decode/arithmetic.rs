//! Decodes arithmetic instructions: PTX ISA 9.7.1 to 9.7.8.

use ptx_syntax::{Form, Instruction, Modifier, Opcode, Operand, Type};

use super::{Body, Decoder, only};
use crate::convert::Conversion;
use crate::float::{self, Comparison, Mode, Property, approximate, format_of};
use crate::integer::{self, Permute};
use crate::op::*;
use crate::soft::{F32, Rounding};

macro_rules! one {
    ($function:expr) => {
        Compute::One(|d, a| {
            for (d, a) in d.iter_mut().zip(a) {
                *d = $function(*a);
            }
        })
    };
}

macro_rules! two {
    ($function:expr) => {
        Compute::Two(|d, a, b| {
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = $function(*a, *b);
            }
        })
    };
}

macro_rules! three {
    ($function:expr) => {
        Compute::Three(|d, a, b, c| {
            for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
                *d = $function(*a, *b, *c);
            }
        })
    };
}

/// Instantiates a generic integer function for the type of the instruction.
macro_rules! by_type {
    ($wrap:ident, $ty:expr, $function:ident) => {
        match $ty {
            Type::U16 | Type::B16 => $wrap!(integer::$function::<u16>),
            Type::U32 | Type::B32 => $wrap!(integer::$function::<u32>),
            Type::U64 | Type::B64 => $wrap!(integer::$function::<u64>),
            Type::S16 => $wrap!(integer::$function::<i16>),
            Type::S32 => $wrap!(integer::$function::<i32>),
            Type::S64 => $wrap!(integer::$function::<i64>),
            _ => return None,
        }
    };
}

macro_rules! compare_by_type {
    ($ty:expr, $operator:tt) => {
        match $ty {
            Type::U16 | Type::B16 | Type::U32 | Type::B32 | Type::U64 | Type::B64 => {
                Compare::Wide(|a, b| lanes(|lane| a[lane] $operator b[lane]))
            }
            Type::S16 => Compare::Wide(|a, b| lanes(|lane| (a[lane] as i16) $operator (b[lane] as i16))),
            Type::S32 => Compare::Wide(|a, b| lanes(|lane| (a[lane] as i32) $operator (b[lane] as i32))),
            Type::S64 => Compare::Wide(|a, b| lanes(|lane| (a[lane] as i64) $operator (b[lane] as i64))),
            _ => return None,
        }
    };
}

#[inline(always)]
fn lanes(test: impl Fn(usize) -> bool) -> u32 {
    (0..32).fold(0, |mask, lane| mask | u32::from(test(lane)) << lane)
}

/// The floating-point mode of the modifiers; `None` if one of them does not apply to floating point.
fn mode(form: &Form, ty: Type) -> Option<Mode> {
    let (format, packed) = format_of(ty)?;
    let mut mode = Mode { packed, ..Mode::new(format) };
    for modifier in &form.modifiers {
        match modifier {
            Modifier::Rn => {}
            Modifier::Rz => mode.rounding = Rounding::Zero,
            Modifier::Rm => mode.rounding = Rounding::Down,
            Modifier::Rp => mode.rounding = Rounding::Up,
            Modifier::Ftz => mode.ftz = true,
            Modifier::Sat => mode.sat = true,
            Modifier::Relu => mode.relu = true,
            Modifier::Nan => mode.nan = true,
            Modifier::XorSign => mode.xorsign = true,
            Modifier::Abs | Modifier::Approx | Modifier::Full => {}
            _ => return None,
        }
    }
    Some(mode)
}

/// The fast paths: `f32` and `f64`, round to nearest, without modifiers.
fn plain_float(opcode: Opcode, mode: &Mode) -> Option<Compute> {
    use float::{bits_of_double, bits_of_single, single};
    if *mode == Mode::new(F32) {
        return Some(match opcode {
            Opcode::Add => two!(|a, b| bits_of_single(single(a) + single(b))),
            Opcode::Sub => two!(|a, b| bits_of_single(single(a) - single(b))),
            Opcode::Mul => two!(|a, b| bits_of_single(single(a) * single(b))),
            Opcode::Div => two!(|a, b| bits_of_single(single(a) / single(b))),
            Opcode::Fma | Opcode::Mad => three!(|a, b, c| bits_of_single(single(a).mul_add(single(b), single(c)))),
            _ => return None,
        });
    }
    if *mode == Mode::new(crate::soft::F64) {
        return Some(match opcode {
            Opcode::Add => two!(|a, b| bits_of_double(f64::from_bits(a) + f64::from_bits(b))),
            Opcode::Sub => two!(|a, b| bits_of_double(f64::from_bits(a) - f64::from_bits(b))),
            Opcode::Mul => two!(|a, b| bits_of_double(f64::from_bits(a) * f64::from_bits(b))),
            Opcode::Div => two!(|a, b| bits_of_double(f64::from_bits(a) / f64::from_bits(b))),
            Opcode::Fma | Opcode::Mad => {
                three!(|a, b, c| bits_of_double(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c))))
            }
            _ => return None,
        });
    }
    None
}

fn float_compute(form: &Form, ty: Type, operands: usize) -> Option<Compute> {
    let mode = mode(form, ty)?;
    if let Some(plain) = plain_float(form.opcode, &mode) {
        let is_approximate = form.has(Modifier::Approx) || form.has(Modifier::Full);
        if !(form.opcode == Opcode::Div && is_approximate) {
            return Some(plain);
        }
    }
    let is_single = ty == Type::F32;
    let approx = form.has(Modifier::Approx);
    let function: fn(&Mode, u64, u64, u64) -> u64 = match form.opcode {
        Opcode::Add => float::add,
        Opcode::Sub => float::sub,
        Opcode::Mul => float::mul,
        Opcode::Fma | Opcode::Mad => float::fma,
        Opcode::Div if is_single && approx => approximate::div_small,
        Opcode::Div if is_single && form.has(Modifier::Full) => approximate::div,
        Opcode::Div => float::div,
        Opcode::Rcp if is_single && approx => approximate::rcp,
        Opcode::Rcp if approx => approximate::rcp64,
        Opcode::Rcp => float::rcp,
        Opcode::Sqrt if is_single && approx => approximate::sqrt,
        Opcode::Sqrt => float::sqrt,
        Opcode::Rsqrt if is_single => approximate::rsqrt,
        Opcode::Rsqrt if ty == Type::F64 => approximate::rsqrt64,
        Opcode::Ex2 if is_single => approximate::ex2,
        Opcode::Ex2 => approximate::ex2_half,
        Opcode::Lg2 if is_single => approximate::lg2,
        Opcode::Sin if is_single => approximate::sin,
        Opcode::Cos if is_single => approximate::cos,
        Opcode::Tanh if is_single => approximate::tanh,
        Opcode::Tanh => approximate::tanh_half,
        Opcode::Min if operands == 4 => float::min3,
        Opcode::Max if operands == 4 => float::max3,
        Opcode::Min => float::min,
        Opcode::Max => float::max,
        Opcode::Neg => float::neg,
        Opcode::Abs => float::abs,
        Opcode::Copysign => float::copysign,
        _ => return None,
    };
    Some(Compute::Float(function, mode))
}

fn integer_compute(form: &Form, ty: Type) -> Option<Compute> {
    use Modifier::{Hi, Lo, Relu, Sat, Wide};
    let allowed = [Lo, Hi, Wide, Sat, Relu, Modifier::Wrap, Modifier::Clamp, Modifier::Shiftamt];
    if !only(form, &allowed) {
        return None;
    }
    let has = |modifier| form.has(modifier);
    Some(match form.opcode {
        Opcode::Add if has(Sat) => by_type!(two, ty, add_sat),
        Opcode::Add => by_type!(two, ty, add),
        Opcode::Sub if has(Sat) => by_type!(two, ty, sub_sat),
        Opcode::Sub => by_type!(two, ty, sub),
        Opcode::Mul if has(Hi) => by_type!(two, ty, mul_hi),
        Opcode::Mul if has(Wide) => by_type!(two, ty, mul_wide),
        Opcode::Mul => by_type!(two, ty, mul_lo),
        Opcode::Mad if has(Hi) && has(Sat) => by_type!(three, ty, mad_hi_sat),
        Opcode::Mad if has(Hi) => by_type!(three, ty, mad_hi),
        Opcode::Mad if has(Wide) => by_type!(three, ty, mad_wide),
        Opcode::Mad => by_type!(three, ty, mad_lo),
        Opcode::Mul24 if has(Hi) => by_type!(two, ty, mul24_hi),
        Opcode::Mul24 => by_type!(two, ty, mul24_lo),
        Opcode::Mad24 if has(Sat) => return None,
        Opcode::Mad24 if has(Hi) => by_type!(three, ty, mad24_hi),
        Opcode::Mad24 => by_type!(three, ty, mad24_lo),
        Opcode::Div => by_type!(two, ty, div),
        Opcode::Rem => by_type!(two, ty, rem),
        Opcode::Min if has(Relu) => by_type!(two, ty, min_relu),
        Opcode::Min => by_type!(two, ty, min),
        Opcode::Max if has(Relu) => by_type!(two, ty, max_relu),
        Opcode::Max => by_type!(two, ty, max),
        Opcode::Neg => by_type!(one, ty, neg),
        Opcode::Abs => by_type!(one, ty, abs),
        Opcode::Sad => by_type!(three, ty, sad),
        Opcode::Not => by_type!(one, ty, not),
        Opcode::Cnot => by_type!(one, ty, cnot),
        Opcode::And => two!(|a, b| a & b),
        Opcode::Or => two!(|a, b| a | b),
        Opcode::Xor => two!(|a, b| a ^ b),
        Opcode::Shl => by_type!(two, ty, shl),
        Opcode::Shr => by_type!(two, ty, shr),
        Opcode::Popc => by_type!(one, ty, popc),
        Opcode::Clz => by_type!(one, ty, clz),
        Opcode::Brev => by_type!(one, ty, brev),
        Opcode::Bfind if has(Modifier::Shiftamt) => by_type!(one, ty, bfind_shift),
        Opcode::Bfind => by_type!(one, ty, bfind),
        Opcode::Bfe => by_type!(three, ty, bfe),
        Opcode::Bmsk if has(Modifier::Wrap) => two!(integer::bmsk_wrap),
        Opcode::Bmsk => two!(integer::bmsk_clamp),
        Opcode::Szext if has(Modifier::Wrap) => by_type!(two, ty, szext_wrap),
        Opcode::Szext => by_type!(two, ty, szext_clamp),
        Opcode::Fns => three!(integer::fns),
        _ => return None,
    })
}

/// `add.u16x2` and related: the operation on both halves.
fn packed_integer(form: &Form, ty: Type) -> Option<Compute> {
    macro_rules! both {
        ($function:expr) => {
            two!(|a: u64, b: u64| {
                let low = $function(a & 0xffff, b & 0xffff);
                $function(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16 | low
            })
        };
    }
    let relu = form.has(Modifier::Relu);
    if !only(form, &[Modifier::Relu]) {
        return None;
    }
    Some(match (form.opcode, ty == Type::S16x2) {
        (Opcode::Add, _) => both!(integer::add::<u16>),
        (Opcode::Min, true) if relu => both!(integer::min_relu::<i16>),
        (Opcode::Max, true) if relu => both!(integer::max_relu::<i16>),
        (Opcode::Min, true) => both!(integer::min::<i16>),
        (Opcode::Min, false) => both!(integer::min::<u16>),
        (Opcode::Max, true) => both!(integer::max::<i16>),
        (Opcode::Max, false) => both!(integer::max::<u16>),
        _ => return None,
    })
}

impl<'m> Decoder<'m> {
    pub(super) fn arithmetic(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        match form.opcode {
            Opcode::Setp | Opcode::Set => self.comparison(body, instruction),
            Opcode::Selp => {
                let ty = form.ty()?;
                let [d, a, b, p] = &*instruction.operands else { return None };
                let (d, p) = (self.register(d)?, self.predicate(p)?);
                Some(Op::Select { d, a: self.source(body, a, ty)?, b: self.source(body, b, ty)?, p })
            }
            Opcode::Slct => self.slct(body, instruction),
            Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not if form.ty() == Some(Type::Pred) => {
                self.logic(instruction)
            }
            Opcode::Add | Opcode::Addc | Opcode::Sub | Opcode::Subc | Opcode::Mad | Opcode::Madc
                if form.has(Modifier::Cc) || matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc) =>
            {
                self.carry(body, instruction)
            }
            Opcode::Cvt => self.conversion(body, instruction),
            Opcode::Lop3 => self.lop3(body, instruction),
            Opcode::Shf => self.funnel(body, instruction),
            Opcode::Prmt => self.permute(body, instruction),
            Opcode::Bfi => {
                let ty = form.ty()?;
                let [d, a, b, c, e] = &*instruction.operands else { return None };
                let s = [
                    self.source(body, a, ty)?,
                    self.source(body, b, ty)?,
                    self.source(body, c, Type::U32)?,
                    self.source(body, e, Type::U32)?,
                ];
                Some(Op::BitInsert { bits: ty.bits(), d: self.register(d)?, s })
            }
            Opcode::Dp4a | Opcode::Dp2a => {
                let [a_type, b_type] = form.types[..] else { return None };
                let signed = (a_type.is_signed(), b_type.is_signed());
                let compute = if form.opcode == Opcode::Dp4a {
                    Compute::Dot4 { a_signed: signed.0, b_signed: signed.1 }
                } else {
                    Compute::Dot2 { signed, upper: form.has(Modifier::Hi) }
                };
                self.compute(body, instruction, compute, [Type::B32; 3], Check::None)
            }
            Opcode::Testp => {
                let (format, false) = format_of(form.ty()?)? else { return None };
                let property = match form.modifiers[..] {
                    [Modifier::Finite] => Property::Finite,
                    [Modifier::Infinite] => Property::Infinite,
                    [Modifier::Number] => Property::Number,
                    [Modifier::Notanumber] => Property::NotANumber,
                    [Modifier::Normal] => Property::Normal,
                    [Modifier::Subnormal] => Property::Subnormal,
                    _ => return None,
                };
                let [d, a] = &*instruction.operands else { return None };
                Some(Op::Test { format, property, d: self.register(d)?, a: self.source(body, a, form.ty()?)? })
            }
            _ => self.plain(body, instruction),
        }
    }

    fn plain(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let ty = form.ty()?;
        // Mixed precision (`add.f32.bf16`) and other forms with several types are not supported.
        if form.types.len() != 1 {
            return None;
        }
        let amount = match form.opcode {
            Opcode::Shl | Opcode::Shr | Opcode::Bmsk | Opcode::Szext | Opcode::Fns => Type::U32,
            _ => ty,
        };
        let mut types = [ty, amount, ty];
        if form.opcode == Opcode::Bfe {
            types = [ty, Type::U32, Type::U32];
        }
        if form.opcode == Opcode::Fns {
            types = [Type::B32, Type::B32, Type::S32];
        }
        if form.has(Modifier::Wide) {
            types[2] = if ty.bits() == 16 { Type::U32 } else { Type::U64 };
        }
        let (compute, check) = if ty.is_float() {
            (float_compute(form, ty, instruction.operands.len())?, Check::None)
        } else if matches!(ty, Type::U16x2 | Type::S16x2) {
            (packed_integer(form, ty)?, Check::None)
        } else {
            let check = match form.opcode {
                Opcode::Div | Opcode::Rem => Check::Division(ty.bits()),
                Opcode::Shl | Opcode::Shr => Check::Shift(ty.bits()),
                _ => Check::None,
            };
            (integer_compute(form, ty)?, check)
        };
        self.compute(body, instruction, compute, types, check)
    }

    fn compute(
        &mut self,
        body: &Body<'m>,
        instruction: &Instruction,
        compute: Compute,
        types: [Type; 3],
        check: Check,
    ) -> Option<Op> {
        let (d, sources) = instruction.operands.split_first()?;
        if sources.is_empty() || sources.len() > 3 {
            return None;
        }
        let needed = match compute {
            Compute::One(_) | Compute::Extend { .. } => 1,
            Compute::Two(_) => 2,
            Compute::Three(_) | Compute::Permute(_) | Compute::Dot4 { .. } | Compute::Dot2 { .. } => 3,
            Compute::Float(..) | Compute::Convert(_) => sources.len(),
        };
        if sources.len() != needed {
            return None;
        }
        let mut all = [Src::Imm(0); 3];
        for ((slot, operand), ty) in all.iter_mut().zip(sources).zip(types) {
            *slot = self.source(body, operand, ty)?;
        }
        let [a, b, c] = all;
        Some(Op::Compute { compute, check, d: self.register(d)?, a, b, c })
    }

    fn slct(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let [ty, condition] = form.types[..] else { return None };
        let compute = match (condition, form.has(Modifier::Ftz)) {
            (Type::S32, _) => three!(|a, b, c| if (c as i32) >= 0 { a } else { b }),
            (Type::F32, false) => three!(|a, b, c| if float::single(c) >= 0.0 { a } else { b }),
            (Type::F32, true) => three!(|a, b, c| if float::single(F32.flush(c)) >= 0.0 { a } else { b }),
            _ => return None,
        };
        self.compute(body, instruction, compute, [ty, ty, condition], Check::None)
    }

    fn logic(&mut self, instruction: &Instruction) -> Option<Op> {
        let (logic, negate) = match instruction.opcode() {
            Opcode::And => (Some(Logic::And), false),
            Opcode::Or => (Some(Logic::Or), false),
            Opcode::Xor => (Some(Logic::Xor), false),
            _ => (None, true),
        };
        let d = self.register(instruction.operands.first()?)?;
        let a = self.predicate(instruction.operands.get(1)?)?;
        let b = match logic {
            Some(_) => self.predicate(instruction.operands.get(2)?)?,
            None => a,
        };
        Some(Op::Predicate { logic, negate, d, a, b })
    }

    fn comparison(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let ty = form.ty()?;
        let (compare, logic) = comparison(form, ty)?;
        let (first, rest) = instruction.operands.split_first()?;
        let (a, b) = (self.source(body, rest.first()?, ty)?, self.source(body, rest.get(1)?, ty)?);
        let combine = match (logic, rest.get(2)) {
            (Some(logic), Some(operand)) => Some((logic, self.predicate(operand)?)),
            (None, None) => None,
            _ => return None,
        };
        if form.opcode == Opcode::Set {
            let one = match form.types[0] {
                Type::F32 => u64::from(1f32.to_bits()),
                Type::U32 | Type::S32 => 0xffff_ffff,
                Type::F16 => 0x3c00,
                Type::Bf16 => 0x3f80,
                Type::F16x2 => 0x3c00_3c00,
                Type::Bf16x2 => 0x3f80_3f80,
                Type::U16 | Type::S16 => 0xffff,
                _ => return None,
            };
            let is_packed = matches!(compare, Compare::Float { packed: true, .. });
            if form.types.len() != 2 || (is_packed && combine.is_some()) {
                return None;
            }
            return Some(Op::Set { compare, a, b, combine, d: self.register(first)?, one });
        }
        let (p, q) = match first {
            Operand::Pair(pair) => (self.register_or_sink(&pair.0)?, self.register_or_sink(&pair.1)?),
            other => (self.register_or_sink(other)?, None),
        };
        if form.types.len() != 1 {
            return None;
        }
        Some(Op::Compare { compare, a, b, combine, p, q })
    }

    fn carry(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let ty = form.ty()?;
        let kind = match form.opcode {
            Opcode::Add | Opcode::Addc => CarryKind::Add,
            Opcode::Sub | Opcode::Subc => CarryKind::Sub,
            _ if form.has(Modifier::Hi) => CarryKind::MadHi,
            _ => CarryKind::MadLo,
        };
        if !matches!(ty.bits(), 32 | 64) || ty.is_float() || !only(form, &[Modifier::Cc, Modifier::Lo, Modifier::Hi]) {
            return None;
        }
        let reads = matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
        let (d, rest) = instruction.operands.split_first()?;
        let (a, b) = (self.source(body, rest.first()?, ty)?, self.source(body, rest.get(1)?, ty)?);
        let c = match kind {
            CarryKind::Add | CarryKind::Sub => Src::Imm(0),
            _ => self.source(body, rest.get(2)?, ty)?,
        };
        let writes = form.has(Modifier::Cc);
        Some(Op::Carry { kind, bits: ty.bits(), signed: ty.is_signed(), reads, writes, d: self.register(d)?, a, b, c })
    }

    fn conversion(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let [to, from] = form.types[..] else { return None };
        let register = self.register(instruction.operands.first()?)?;
        let bits = self.register_bits(body, register);
        let mut conversion = Conversion::plain(to, from, bits);
        for modifier in &form.modifiers {
            let (rounding, to_whole) = match modifier {
                Modifier::Rn => (Rounding::Nearest, false),
                Modifier::Rna => (Rounding::NearestAway, false),
                Modifier::Rz => (Rounding::Zero, false),
                Modifier::Rm => (Rounding::Down, false),
                Modifier::Rp => (Rounding::Up, false),
                Modifier::Rni => (Rounding::Nearest, true),
                Modifier::Rzi => (Rounding::Zero, true),
                Modifier::Rmi => (Rounding::Down, true),
                Modifier::Rpi => (Rounding::Up, true),
                Modifier::Ftz => {
                    conversion.ftz = true;
                    continue;
                }
                Modifier::Sat => {
                    conversion.sat = true;
                    continue;
                }
                Modifier::Relu => {
                    conversion.relu = true;
                    continue;
                }
                Modifier::Satfinite => {
                    conversion.satfinite = true;
                    continue;
                }
                _ => return None,
            };
            (conversion.rounding, conversion.to_whole) = (rounding, to_whole);
        }
        if !conversion.is_known() {
            return None;
        }
        let is_plain = !to.is_float() && !from.is_float() && !conversion.sat;
        let compute = if is_plain && to.bits() > from.bits() {
            // The result register may be wider than the result type: a signed result is extended to the register.
            let is_kept = from.is_signed();
            let limit = if to.is_signed() && is_kept { bits.max(to.bits()) } else { to.bits() };
            Compute::Extend { from: from.bits(), signed: is_kept, to: limit }
        } else if is_plain {
            let limit = if to.is_signed() { bits.max(to.bits()) } else { to.bits() };
            Compute::Extend { from: to.bits(), signed: to.is_signed(), to: limit }
        } else {
            Compute::Convert(Box::new(conversion))
        };
        self.compute(body, instruction, compute, [from; 3], Check::None)
    }

    fn lop3(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let (first, rest) = instruction.operands.split_first()?;
        let [a, b, c, Operand::Imm(table), predicate @ ..] = rest else { return None };
        let s = [self.source(body, a, Type::B32)?, self.source(body, b, Type::B32)?, self.source(body, c, Type::B32)?];
        let (d, out) = match first {
            Operand::Pair(pair) => (self.register_or_sink(&pair.0)?, Some(self.register(&pair.1)?)),
            other => (Some(self.register(other)?), None),
        };
        let predicate = match (out, predicate) {
            (None, []) => None,
            (Some(out), [operand]) => {
                let logic = if instruction.has(Modifier::Or) { Logic::Or } else { Logic::And };
                Some((logic, self.predicate(operand)?, out))
            }
            _ => return None,
        };
        Some(Op::Lop3 { table: table.cast_unsigned() & 0xff, d: d?, s, predicate })
    }

    fn funnel(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        let compute = match (form.has(Modifier::L), form.has(Modifier::Clamp)) {
            (true, true) => three!(|a, b, c: u64| {
                let amount = (c as u32).min(32);
                if amount == 32 { a & 0xffff_ffff } else { integer::shf_left(a, b, amount) }
            }),
            (true, false) => three!(|a, b, c: u64| integer::shf_left(a, b, c as u32 & 31)),
            (false, true) => three!(|a, b, c: u64| integer::shf_right(a, b, (c as u32).min(32))),
            (false, false) => three!(|a, b, c: u64| integer::shf_right(a, b, c as u32 & 31)),
        };
        self.compute(body, instruction, compute, [Type::B32; 3], Check::None)
    }

    fn permute(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let mode = match instruction.form.modifiers[..] {
            [] => Permute::Index,
            [Modifier::F4e] => Permute::Forward4,
            [Modifier::B4e] => Permute::Backward4,
            [Modifier::Rc8] => Permute::Replicate8,
            [Modifier::Ecl] => Permute::EdgeLeft,
            [Modifier::Ecr] => Permute::EdgeRight,
            [Modifier::Rc16] => Permute::Replicate16,
            _ => return None,
        };
        self.compute(body, instruction, Compute::Permute(mode), [Type::B32; 3], Check::None)
    }
}

/// The comparison of a form, and the logical operation that combines its result with a predicate.
fn comparison(form: &Form, ty: Type) -> Option<(Compare, Option<Logic>)> {
    let (mut kind, mut unordered, mut logic, mut ftz) = (None, false, None, false);
    let mut is_unsigned = false;
    for modifier in &form.modifiers {
        let (found, open) = match modifier {
            Modifier::Eq => (Comparison::Eq, false),
            Modifier::Ne => (Comparison::Ne, false),
            Modifier::Lt => (Comparison::Lt, false),
            Modifier::Le => (Comparison::Le, false),
            Modifier::Gt => (Comparison::Gt, false),
            Modifier::Ge => (Comparison::Ge, false),
            Modifier::Equ => (Comparison::Eq, true),
            Modifier::Neu => (Comparison::Ne, true),
            Modifier::Ltu => (Comparison::Lt, true),
            Modifier::Leu => (Comparison::Le, true),
            Modifier::Gtu => (Comparison::Gt, true),
            Modifier::Geu => (Comparison::Ge, true),
            Modifier::Num => (Comparison::Num, false),
            Modifier::NanTest => (Comparison::Nan, false),
            Modifier::Lo | Modifier::Ls | Modifier::Hi | Modifier::Hs => {
                is_unsigned = true;
                let kind = match modifier {
                    Modifier::Lo => Comparison::Lt,
                    Modifier::Ls => Comparison::Le,
                    Modifier::Hi => Comparison::Gt,
                    _ => Comparison::Ge,
                };
                (kind, false)
            }
            Modifier::And => {
                logic = Some(Logic::And);
                continue;
            }
            Modifier::Or => {
                logic = Some(Logic::Or);
                continue;
            }
            Modifier::Xor => {
                logic = Some(Logic::Xor);
                continue;
            }
            Modifier::Ftz => {
                ftz = true;
                continue;
            }
            _ => return None,
        };
        (kind, unordered) = (Some(found), open);
    }
    let kind = kind?;
    if ty.is_float() {
        let (format, packed) = format_of(ty)?;
        if packed && form.opcode == Opcode::Setp {
            return None;
        }
        return Some((Compare::Float { format, ftz, kind, unordered, packed }, logic));
    }
    let ty = match (is_unsigned, ty) {
        (true, Type::S16) => Type::U16,
        (true, Type::S32) => Type::U32,
        (true, Type::S64) => Type::U64,
        _ => ty,
    };
    let compare = match kind {
        Comparison::Eq => compare_by_type!(ty, ==),
        Comparison::Ne => compare_by_type!(ty, !=),
        Comparison::Lt => compare_by_type!(ty, <),
        Comparison::Le => compare_by_type!(ty, <=),
        Comparison::Gt => compare_by_type!(ty, >),
        Comparison::Ge => compare_by_type!(ty, >=),
        Comparison::Num | Comparison::Nan => return None,
    };
    Some((compare, logic))
}
