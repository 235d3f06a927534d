//! Matrix multiply-accumulate. PTX ISA 9.7.14 "Warp Level Matrix Multiply-Accumulate Instructions".
//!
//! The order in which tensor cores add, and their intermediate rounding, are not documented. The model adds exact
//! products in double precision and rounds once. The layout of `wmma` fragments is not documented either; here it is
//! row-major.

use ptx_syntax::Type;

use crate::op::{Fragment, Lanes, Matrix};
use crate::soft::{self, BF16, F16, F32, F64, Rounding};
use crate::together::Exchange;

/// The layout of a `wmma` fragment.
pub(crate) struct Layout {
    pub per_lane: usize,
    columns: usize,
    bits: u32,
    /// Elements per register.
    packed: usize,
}

impl Fragment {
    pub fn layout(&self) -> Layout {
        let (rows, columns) = self.extent();
        layout(rows, columns, self.ty)
    }

    /// Byte offset of an element from the start of the matrix.
    pub fn offset(&self, (row, column): (usize, usize), stride: u64) -> u64 {
        let (major, minor) = if self.row_major { (row, column) } else { (column, row) };
        (major as u64).wrapping_mul(stride).wrapping_add(minor as u64).wrapping_mul(u64::from(self.ty.bytes()))
    }
}

fn layout(rows: u32, columns: u32, ty: Type) -> Layout {
    let bits = ty.bits();
    Layout {
        per_lane: (rows * columns / 32) as usize,
        columns: columns as usize,
        bits,
        packed: (32 / bits).max(1) as usize,
    }
}

impl Layout {
    pub fn place(&self, lane: usize, element: usize) -> (usize, usize) {
        let index = lane * self.per_lane + element;
        (index / self.columns, index % self.columns)
    }

    pub fn put(&self, registers: &mut [Lanes], lane: usize, element: usize, value: u64) {
        put(registers, lane, (element, self.packed, self.bits), value);
    }

    pub fn get(&self, registers: &[Lanes], lane: usize, element: usize) -> u64 {
        get(registers, lane, (element, self.packed, self.bits))
    }
}

fn put(registers: &mut [Lanes], lane: usize, (element, packed, bits): (usize, usize, u32), value: u64) {
    let Some(register) = registers.get_mut(element / packed) else { return };
    let shift = bits * (element % packed) as u32;
    let mask = (u64::MAX >> (64 - bits)) << shift;
    register[lane] = register[lane] & !mask | (value << shift & mask);
}

fn get(registers: &[Lanes], lane: usize, (element, packed, bits): (usize, usize, u32)) -> u64 {
    let Some(register) = registers.get(element / packed) else { return 0 };
    register[lane] >> (bits * (element % packed) as u32) & (u64::MAX >> (64 - bits))
}

/// Bits of an element in its register; `tf32` takes 32.
fn element_bits(ty: Type) -> u32 {
    ty.bits()
}

fn number(ty: Type, bits: u64) -> f64 {
    let wide = |format| f64::from_bits(soft::convert(bits, format, F64, Rounding::Nearest));
    match ty {
        Type::F16 => wide(F16),
        Type::Bf16 => wide(BF16),
        // The low 13 bits are ignored.
        Type::Tf32 => f64::from(f32::from_bits(bits as u32 & !0x1fff)),
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        Type::S8 => f64::from(bits as u8 as i8),
        Type::U8 => f64::from(bits as u8),
        Type::S32 => f64::from(bits as u32 as i32),
        _ => f64::from_bits(bits),
    }
}

/// Row and column of an element of `mma`'s operand `a`, by lane: PTX ISA "Matrix Fragments for mma".
fn place_a((m, _, k): (u32, u32, u32), ty: Type, lane: usize, element: usize) -> (usize, usize) {
    let (group, thread) = (lane / 4, lane % 4);
    // Adjacent elements of a row that share a register.
    let run = (32 / element_bits(ty)).max(1) as usize;
    let (register, within) = (element / run, element % run);
    if m == 8 {
        return (group, thread * run + within);
    }
    let half = 4 * run;
    let column = thread * run + within + if (k as usize) > half { register / 2 * half } else { 0 };
    (group + register % 2 * 8, column)
}

fn place_b(ty: Type, lane: usize, element: usize) -> (usize, usize) {
    let (group, thread) = (lane / 4, lane % 4);
    let run = (32 / element_bits(ty)).max(1) as usize;
    (thread * run + element % run + element / run * 4 * run, group)
}

fn place_c(lane: usize, element: usize) -> (usize, usize) {
    (lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2)
}

impl Matrix {
    pub fn multiply(&self, exchange: &mut Exchange) {
        let (m, n, k) = (self.shape.0 as usize, self.shape.1 as usize, self.shape.2 as usize);
        let [d_type, a_type, b_type, c_type] = self.types;
        let count = |rows: usize, columns: usize| rows * columns / 32;
        let registers = |rows: usize, columns: usize, ty: Type| {
            let packed = (32 / element_bits(ty)).max(1) as usize;
            count(rows, columns).div_ceil(packed)
        };
        // `f16` fragments of `wmma` take eight registers where four would do.
        let c_registers = registers(m, n, c_type);
        let total = exchange.inputs.len();
        let (a_registers, b_start) = if self.is_wmma {
            let both = total.saturating_sub(c_registers);
            let a = self.wmma_registers(m, k, a_type, both);
            (a, a)
        } else {
            let a = registers(m, k, a_type);
            (a, a)
        };
        let c_start = total.saturating_sub(c_registers);
        let part = |from: usize, to: usize| exchange.inputs.get(from..to).unwrap_or(&[]);
        let (a, b, c) = (part(0, a_registers), part(b_start, c_start), part(c_start, total));
        let a = self.elements(a, (m, k), a_type, 'a');
        let b = self.elements(b, (k, n), b_type, 'b');
        let c = self.elements(c, (m, n), c_type, 'c');
        let mut results = vec![0.0f64; m * n];
        for row in 0..m {
            for column in 0..n {
                let mut sum = c[row * n + column];
                for inner in 0..k {
                    sum = a[row * k + inner].mul_add(b[inner * n + column], sum);
                }
                results[row * n + column] = sum;
            }
        }
        self.spread(exchange, &results, (m, n), d_type);
    }

    /// Number of registers of `a` in a `wmma.mma`, out of `both`, those of `a` and `b` together.
    fn wmma_registers(&self, m: usize, k: usize, ty: Type, both: usize) -> usize {
        match (ty, m) {
            (Type::F16, _) => both / 2,
            _ => (m * k / 32).div_ceil((32 / element_bits(ty)).max(1) as usize),
        }
    }

    fn elements(&self, registers: &[Lanes], (rows, columns): (usize, usize), ty: Type, which: char) -> Vec<f64> {
        let mut elements = vec![0.0; rows * columns];
        let bits = element_bits(ty);
        let packed = (32 / bits).max(1) as usize;
        let fragment = layout(rows as u32, columns as u32, ty);
        for lane in 0..32 {
            for element in 0..rows * columns / 32 {
                let (row, column) = match which {
                    _ if self.is_wmma => fragment.place(lane, element),
                    'a' => place_a(self.shape, ty, lane, element),
                    'b' => place_b(ty, lane, element),
                    _ => place_c(lane, element),
                };
                if let Some(slot) = elements.get_mut(row * columns + column) {
                    *slot = number(ty, get(registers, lane, (element, packed, bits)));
                }
            }
        }
        elements
    }

    fn spread(&self, exchange: &mut Exchange, results: &[f64], (rows, columns): (usize, usize), ty: Type) {
        let bits = element_bits(ty);
        let packed = (32 / bits).max(1) as usize;
        let fragment = layout(rows as u32, columns as u32, ty);
        for lane in 0..32 {
            for element in 0..rows * columns / 32 {
                let (row, column) = if self.is_wmma { fragment.place(lane, element) } else { place_c(lane, element) };
                let value = self.rounded(results[row * columns + column], ty);
                put(&mut exchange.outputs, lane, (element, packed, bits), value);
            }
        }
    }

    fn rounded(&self, value: f64, ty: Type) -> u64 {
        match ty {
            Type::F16 => soft::convert(value.to_bits(), F64, F16, Rounding::Nearest),
            Type::F32 => soft::convert(value.to_bits(), F64, F32, Rounding::Nearest),
            // Sums of byte products are exact in a double; without saturation they wrap.
            Type::S32 if self.saturates => u64::from((value as i32).cast_unsigned()),
            Type::S32 => u64::from((value as i64) as u32),
            _ => value.to_bits(),
        }
    }
}
