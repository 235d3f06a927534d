//! Numbers and booleans: their values and their printed form.

use syn::{Expr, Lit};

use lmem_unit::MappedText;

use super::{Folded, Folder, only};
use crate::rust::fold::frames::Frames;

impl Folder<'_, '_> {
    /// The value of a constant integer expression.
    pub(super) fn number(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Option<i64> {
        let only = only(self.heads(file, expression, frames, steps + 1)).ok()?;
        let (file, frames) = (only.file, &only.frames);
        match &only.expression {
            Expr::Lit(syn::ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
            Expr::Unary(negated) if matches!(negated.op, syn::UnOp::Neg(_)) => {
                self.number(file, &negated.expr, frames, steps + 1)?.checked_neg()
            }
            Expr::Binary(operation) => {
                let left = self.number(file, &operation.left, frames, steps + 1)?;
                let right = self.number(file, &operation.right, frames, steps + 1)?;
                let shift = || u32::try_from(right).ok().filter(|bits| *bits < 63);
                match operation.op {
                    syn::BinOp::Add(_) => left.checked_add(right),
                    syn::BinOp::Sub(_) => left.checked_sub(right),
                    syn::BinOp::Mul(_) => left.checked_mul(right),
                    syn::BinOp::Div(_) => left.checked_div(right),
                    syn::BinOp::Rem(_) => left.checked_rem(right),
                    syn::BinOp::Shl(_) => left.checked_mul(1i64.checked_shl(shift()?)?),
                    syn::BinOp::Shr(_) => left.checked_shr(shift()?),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Numbers and booleans, formatted as by `Display` or by `concat!`.
    pub(super) fn printed(
        &mut self,
        file: usize,
        expression: &Expr,
        is_display: bool,
        frames: &Frames,
        steps: usize,
    ) -> Option<Folded> {
        let float = |digits: &str| if is_display { displayed(digits) } else { Some(digits.to_string()) };
        let text = match expression {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => number.base10_digits().to_string(),
                Lit::Float(number) => float(number.base10_digits())?,
                Lit::Bool(truth) => truth.value.to_string(),
                _ => return None,
            },
            Expr::Unary(negated) if matches!(negated.op, syn::UnOp::Neg(_)) => match &*negated.expr {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Int(number) => format!("-{}", number.base10_digits()),
                    Lit::Float(number) => format!("-{}", float(number.base10_digits())?),
                    _ => return None,
                },
                _ => self.number(file, expression, frames, steps)?.to_string(),
            },
            Expr::Binary(_) => self.number(file, expression, frames, steps)?.to_string(),
            _ => return None,
        };
        let mut mapped = MappedText::default();
        mapped.push(&text, self.span(file, expression));
        Some(Folded { text: mapped, ..Folded::default() })
    }
}

/// A floating-point number formatted as by `Display`: `1` for `1.0`. With so few digits, `f32` and `f64` print the
/// same.
fn displayed(digits: &str) -> Option<String> {
    let is_short = digits.len() <= 7 && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse::<f64>().ok().filter(|_| is_short).map(|number| number.to_string())
}
