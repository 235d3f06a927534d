//! The parameters of a launch, with kinds inferred from the kernel's use of them.

use ptx_machine::{Class, Memory, Origin, ParameterUse, Program};
use ptx_syntax::{Function, Opcode, Operand, Type};

use crate::draw::{float_bits, mix};
use crate::recipe::{Recipe, Rest};

/// Limit on pointers in one parameter: a structure of pointers is one parameter.
pub(crate) const POINTERS: u32 = 512;

/// Trip counts, extents and indices that expose mistakes: zero, one, powers of two and their neighbours.
const TELLING: [i64; 21] = [1, 2, 0, 5, 3, 8, 4, 17, 7, 9, 16, 33, 32, 31, 6, 12, 15, 63, 64, 65, 100];
/// Limit on the kernel's constants that are tried as parameters.
const MOST_CONSTANTS: usize = 12;
const LARGEST_CONSTANT: i64 = 4096;

/// The parts of the parameters, by kind.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    /// Size of each parameter.
    sizes: Vec<usize>,
    pointers: Vec<Part>,
    floats: Vec<(Part, Type)>,
    pub integers: Vec<Part>,
    /// Bytes that no load with a constant address reads: structures that are indexed, or passed by address.
    rest: Vec<(usize, usize)>,
    /// Constants that the kernel compares with.
    constants: Vec<i64>,
}

/// A part of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    parameter: usize,
    offset: usize,
    bytes: usize,
}

impl Parameters {
    /// Merges both versions, because one may load parts that the other does not.
    pub fn new(before: &Program, after: &Program) -> Self {
        let kernel = before.kernel();
        let inputs: Vec<(usize, bool)> =
            kernel.inputs().map(|(_, input)| (input.bytes as usize, input.pointer.is_some())).collect();
        let mut known: Vec<Vec<bool>> = inputs.iter().map(|(bytes, _)| vec![false; *bytes]).collect();
        let mut parameters = Self {
            sizes: inputs.iter().map(|(bytes, _)| *bytes).collect(),
            pointers: Vec::new(),
            floats: Vec::new(),
            integers: Vec::new(),
            rest: Vec::new(),
            constants: constants(before.kernel()),
        };
        let mut uses: Vec<ParameterUse> = before.parameter_uses().into_iter().chain(after.parameter_uses()).collect();
        // Of two loads of the same bytes, the more specific one is kept.
        uses.sort_by_key(|used| used.class == Class::Unknown);
        for used in uses {
            let part =
                Part { parameter: used.parameter as usize, offset: used.offset as usize, bytes: used.bytes as usize };
            let Some(bytes) =
                known.get_mut(part.parameter).and_then(|it| it.get_mut(part.offset..part.offset + part.bytes))
            else {
                continue;
            };
            if bytes.iter().all(|is_known| *is_known) {
                continue;
            }
            bytes.fill(true);
            let is_pointer = inputs.get(part.parameter).is_some_and(|(_, is_pointer)| *is_pointer);
            match used.class {
                Class::Pointer if part.bytes == 8 => parameters.pointers.push(part),
                _ if is_pointer && part.bytes == 8 => parameters.pointers.push(part),
                Class::Float(ty) if ty.bytes() as usize <= part.bytes => parameters.floats.push((part, ty)),
                _ => parameters.integers.push(part),
            }
        }
        for (parameter, bytes) in known.iter().enumerate() {
            let free = (0..bytes.len()).step_by(4).filter(|start| bytes[*start..].iter().take(4).all(|known| !known));
            parameters.rest.extend(free.map(|start| (parameter, start)));
        }
        parameters
    }

    /// What the pointers lead to.
    pub fn pointer_origins(&self) -> impl Iterator<Item = Origin> {
        self.pointers.iter().map(|part| Origin::Parameter(number_of(*part)))
    }

    /// By part of `integers`: the argument of a call with these arguments, if it is a number.
    pub fn given(&self, arguments: &[Option<i64>]) -> Vec<Option<i64>> {
        let given = |part: &Part| arguments.get(part.parameter).copied().flatten().filter(|_| part.offset == 0);
        self.integers.iter().map(given).collect()
    }

    /// Whether there are bytes of unknown kind.
    pub fn has_rest(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Candidate values for an integer up to `most`, the most revealing first.
    pub fn candidates(&self, most: i64) -> Vec<i64> {
        let mut all: Vec<i64> = Vec::new();
        let near = self.constants.iter().flat_map(|constant| [*constant, constant + 1, constant - 1]);
        let (first, later) = TELLING.split_at(3);
        for number in first.iter().copied().chain(near).chain(later.iter().copied()).chain([most, most - 1]) {
            if (0..=most).contains(&number) && !all.contains(&number) {
                all.push(number);
            }
        }
        all
    }

    /// The bytes of all parameters.
    pub fn bytes(&self, memory: &mut Memory, recipe: &Recipe) -> Vec<Vec<u8>> {
        let Recipe { seed, rest, wide_are_pointers, integers, alias, .. } = recipe;
        let mut all: Vec<Vec<u8>> = self.sizes.iter().map(|bytes| vec![0; *bytes]).collect();
        let mut put = |part: Part, bits: u64| {
            let slot = all.get_mut(part.parameter).and_then(|it| it.get_mut(part.offset..part.offset + part.bytes));
            if let Some(slot) = slot {
                let bytes = bits.to_le_bytes();
                slot.copy_from_slice(&bytes[..slot.len().min(8)]);
            }
        };
        let region = |memory: &mut Memory, part: Part| memory.parameter(number_of(part)).address();
        for (number, (parameter, offset)) in (0u64..).zip(&self.rest) {
            let hash = mix(*seed, number.wrapping_mul(31));
            let wide = Part { parameter: *parameter, offset: *offset, bytes: 8 };
            let is_first = offset % 8 == 0;
            match rest {
                Rest::Integers => put(Part { bytes: 4, ..wide }, hash % 17),
                Rest::Singles => put(Part { bytes: 4, ..wide }, float_bits(Type::F32, small(hash))),
                Rest::Doubles if is_first => put(wide, float_bits(Type::F64, small(hash))),
                Rest::Pointers if is_first => put(wide, region(memory, wide)),
                Rest::Doubles | Rest::Pointers => {}
            }
        }
        for (index, part) in self.pointers.iter().enumerate() {
            let alias = alias.filter(|alias| alias.to == index);
            let target = alias.and_then(|alias| self.pointers.get(alias.from)).unwrap_or(part);
            let shift = alias.map_or(0, |alias| alias.shift);
            put(*part, region(memory, *target).wrapping_add_signed(shift));
        }
        for (number, (part, ty)) in (0u64..).zip(&self.floats) {
            put(*part, float_bits(*ty, small(mix(*seed, number.wrapping_mul(7919)))));
        }
        for (part, value) in self.integers.iter().zip(integers) {
            match *wide_are_pointers && part.bytes == 8 {
                true => put(*part, region(memory, *part)),
                false => put(*part, value.cast_unsigned()),
            }
        }
        all
    }
}

/// The number of the region that a pointer leads to.
fn number_of(part: Part) -> u32 {
    part.parameter as u32 * POINTERS + (part.offset / 8) as u32 % POINTERS
}

/// A plausible threshold, factor or step.
fn small(hash: u64) -> f64 {
    const NUMBERS: [f64; 8] = [1.5, 0.5, -1.0, 0.25, 2.0, 0.0, 1.0, 0.75];
    NUMBERS[(hash % 8) as usize]
}

/// Constants that the kernel compares with, divides by, or clamps to.
fn constants(kernel: &Function) -> Vec<i64> {
    let mut all = Vec::new();
    for instruction in &kernel.instructions {
        if !matches!(instruction.opcode(), Opcode::Setp | Opcode::Rem | Opcode::Div | Opcode::Min | Opcode::Max) {
            continue;
        }
        for operand in &instruction.operands {
            if let Operand::Imm(number @ 1..=LARGEST_CONSTANT) = operand
                && !all.contains(number)
                && all.len() < MOST_CONSTANTS
            {
                all.push(*number);
            }
        }
    }
    all
}
