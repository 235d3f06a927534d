//! The value of a constant expression of C++, with its type.
//!
//! Integers alone, and what is certain: an expression whose value C++ leaves open (overflow of a signed type, a shift by
//! the width, a division by zero) has none, and neither has one with anything that is not understood. A value that is
//! given is what the compiler computes; a test compares both for 2,000 expressions.

mod expression;
pub mod integer;
mod literal;
mod token;
mod type_name;

pub use integer::{IntegerType, Value};

/// The value of an expression. Names are passed to `value_of` as they are written, qualified ones (`ns::N`,
/// `Traits<4>::N`) as a whole.
pub fn evaluate(text: &str, value_of: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    let tokens = token::tokens(text)?;
    expression::evaluate(text, &tokens, value_of)
}

#[cfg(test)]
mod tests;
