//! Constant expressions of C++: value and type.
//!
//! Only integers are evaluated. An expression without a defined value (signed overflow, a shift by the type's width, a
//! division by zero) gives `None`; so does any expression that is not understood. A value that is given equals the
//! compiler's; a test compares 2,000 expressions.

mod expression;
pub mod integer;
mod literal;
mod token;
mod type_name;

pub use integer::{IntegerType, Value};

/// The value of an expression. `value_of` gets each name as written; a qualified name (`ns::N`, `Traits<4>::N`) is
/// passed as a whole.
pub fn evaluate(text: &str, value_of: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    let tokens = token::tokens(text)?;
    expression::evaluate(text, &tokens, value_of)
}

#[cfg(test)]
mod tests;
