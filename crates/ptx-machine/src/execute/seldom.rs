//! Rare instructions.

use ptx_syntax::Space;

use super::{Next, lanes_of, merge, merge_bits};
use crate::float;
use crate::integer;
use crate::machine::{BlockState, Run, Stop};
use crate::memory::{LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use crate::op::*;
use crate::outcome::Fault;
use crate::warp::{Frame, Split};

impl<'a> Run<'a> {
    /// Executes rare instructions, which are kept out of the main loop.
    pub(super) fn seldom(
        &mut self,
        block: &mut BlockState,
        warp_index: usize,
        frame: &mut Frame,
        split: &Split,
        op: &Op,
        active: u32,
    ) -> Result<Next, Stop> {
        let reader = self.reader(block, &block.warps[warp_index], frame);
        match op {
            Op::BitInsert { bits, d, s } => {
                let [a, b, c, e] = s.map(|source| reader.copy(source));
                let insert = match bits {
                    64 => integer::bfi::<u64>,
                    _ => integer::bfi::<u32>,
                };
                let out = std::array::from_fn(|lane| insert(a[lane], b[lane], c[lane], e[lane]));
                merge(&mut frame.registers[*d as usize], &out, active);
            }
            Op::Lop3 { table, d, s, predicate } => {
                let [a, b, c] = s.map(|source| reader.copy(source));
                let out = std::array::from_fn(|lane| integer::lop3(a[lane], b[lane], c[lane], *table));
                let nonzero = lanes_of(u32::MAX).fold(0, |mask, lane| mask | u32::from(out[lane] != 0) << lane);
                let bits = predicate.map(|(logic, source, out)| (out, logic.apply(nonzero, reader.predicate(source))));
                merge(&mut frame.registers[*d as usize], &out, active);
                if let Some((register, bits)) = bits {
                    merge_bits(&mut frame.predicates[register as usize], bits, active);
                }
            }
            Op::Carry { kind, bits, signed, reads, writes, d, a, b, c } => {
                let (a, b, c) = (reader.copy(*a), reader.copy(*b), reader.copy(*c));
                let carry = frame.carry;
                let mut out = [0; 32];
                let mut flags = 0;
                for lane in lanes_of(active) {
                    let flag = u128::from(*reads && carry >> lane & 1 == 1);
                    let (value, next) = with_carry(*kind, (*bits, *signed), (a[lane], b[lane], c[lane]), flag);
                    out[lane] = value;
                    flags |= u32::from(next) << lane;
                }
                merge(&mut frame.registers[*d as usize], &out, active);
                if *writes {
                    merge_bits(&mut frame.carry, flags, active);
                }
            }
            Op::Test { format, property, d, a } => {
                let a = reader.copy(*a);
                let bits = lanes_of(active)
                    .fold(0, |mask, lane| mask | u32::from(float::test(*format, *property, a[lane])) << lane);
                merge_bits(&mut frame.predicates[*d as usize], bits, active);
            }
            Op::Pack { d, parts, bits } => {
                let mut out = [0; 32];
                for (index, part) in (0..).zip(parts) {
                    let part = reader.copy(*part);
                    let mask = (1u64 << bits) - 1;
                    for lane in 0..32 {
                        out[lane] |= (part[lane] & mask) << (index * bits);
                    }
                }
                merge(&mut frame.registers[*d as usize], &out, active);
            }
            Op::Unpack { parts, a, bits } => {
                let a = reader.copy(*a);
                for (index, part) in (0..).zip(parts) {
                    let out = std::array::from_fn(|lane| a[lane] >> (index * bits) & ((1u64 << bits) - 1));
                    if let Some(part) = part {
                        merge(&mut frame.registers[*part as usize], &out, active);
                    }
                }
            }
            Op::IsSpace { space, d, a } => {
                let a = reader.copy(*a);
                let inside = |address: u64, window: u64| address.wrapping_sub(window) < WINDOW_SIZE;
                let is_in = |address: u64| match space {
                    Space::Shared | Space::SharedCluster => inside(address, SHARED_WINDOW),
                    Space::Local => inside(address, LOCAL_WINDOW),
                    Space::Param => inside(address, PARAMETER_WINDOW),
                    Space::Const => self.is_constant(address),
                    _ => address >= PARAMETER_WINDOW + WINDOW_SIZE && !self.is_constant(address),
                };
                let bits = lanes_of(active).fold(0, |mask, lane| mask | u32::from(is_in(a[lane])) << lane);
                merge_bits(&mut frame.predicates[*d as usize], bits, active);
            }
            Op::Alloca { d, a, align } => {
                let sizes = reader.copy(*a);
                let limit = self.local_limit();
                for lane in lanes_of(active) {
                    let start = frame.local_top[lane].next_multiple_of(*align);
                    let end = start.saturating_add(sizes[lane]);
                    if end > limit {
                        return Err(Stop::Fault(Fault::StackOverflow, lane as u32));
                    }
                    frame.registers[*d as usize][lane] = LOCAL_WINDOW + start;
                    frame.allocations.push((lane as u8, start, end));
                    frame.local_top[lane] = end.next_multiple_of(16);
                }
            }
            Op::StackSave { d } => {
                let tops = frame.local_top;
                merge(&mut frame.registers[*d as usize], &tops, active);
            }
            Op::StackRestore { a } => {
                let tops = reader.copy(*a);
                for lane in lanes_of(active) {
                    frame.local_top[lane] = tops[lane].clamp(frame.local_base, frame.local_top[lane]);
                    frame.allocations.retain(|(owner, start, _)| *owner as usize != lane || *start < tops[lane]);
                }
            }
            Op::ActiveMask { d } => {
                let out = [u64::from(split.mask); 32];
                merge(&mut frame.registers[*d as usize], &out, active);
            }
            Op::Atom { access, op, d, b, c } => {
                self.atom(block, warp_index, frame, (access, *op), (*d, *b, *c), active)?
            }
            Op::CopyAsync { to, from, bytes, source_bytes, ignore } => {
                self.copy_async(block, warp_index, frame, (*to, *from, *bytes), (*source_bytes, *ignore), active)?;
            }
            _ => {}
        }
        Ok(Next::On)
    }

    fn is_constant(&self, address: u64) -> bool {
        let links = self.program.links.iter().zip(&self.links);
        let constants = links.filter(|(link, _)| link.variable.space == Space::Const);
        constants.into_iter().any(|(link, start)| address.wrapping_sub(*start) < link.variable.bytes)
    }
}

/// PTX ISA 9.7.2 "Extended-Precision Integer Arithmetic Instructions".
fn with_carry(kind: CarryKind, (bits, signed): (u32, bool), (a, b, c): (u64, u64, u64), flag: u128) -> (u64, bool) {
    let mask = u64::MAX >> (64 - bits);
    let (a, b) = (a & mask, b & mask);
    let sum = match kind {
        CarryKind::Add => u128::from(a) + u128::from(b) + flag,
        CarryKind::Sub => {
            // The flag is a borrow.
            let difference = u128::from(a).wrapping_sub(u128::from(b)).wrapping_sub(flag);
            return (difference as u64 & mask, difference >> 127 == 1);
        }
        CarryKind::MadLo => u128::from(a.wrapping_mul(b) & mask) + u128::from(c & mask) + flag,
        CarryKind::MadHi => {
            let high = match (bits, signed) {
                (32, false) => integer::mul_hi::<u32>(a, b),
                (32, true) => integer::mul_hi::<i32>(a, b),
                (_, false) => integer::mul_hi::<u64>(a, b),
                (_, true) => integer::mul_hi::<i64>(a, b),
            };
            u128::from(high) + u128::from(c & mask) + flag
        }
    };
    (sum as u64 & mask, sum >> bits & 1 == 1)
}
