//! What a kernel may take: the limits that somebody writes down beside it, or in the settings.
//!
//! `stack = 0, spills = 0, registers <= 64, shared <= 48K, occupancy >= 50%`: bytes of the stack frame, of spill stores and of spill
//! loads (each), registers of a thread, bytes of shared memory of a block, and resident warps of those that an SM holds.

use std::fmt;

use crate::words::nearest;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    Stack,
    Spills,
    Registers,
    Shared,
    /// The only one of which there should be much.
    Occupancy,
}

impl Quantity {
    pub const ALL: [Self; 5] = [Self::Stack, Self::Spills, Self::Registers, Self::Shared, Self::Occupancy];

    /// As directives and settings have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::Spills => "spills",
            Self::Registers => "registers",
            Self::Shared => "shared",
            Self::Occupancy => "occupancy",
        }
    }

    /// The field's own words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Stack => "stack frame",
            Self::Spills => "spills",
            Self::Registers => "registers",
            Self::Shared => "shared memory",
            Self::Occupancy => "occupancy",
        }
    }

    /// The quantity that a name stands for.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn parse(name: &str) -> Result<Self, BudgetError> {
        Self::ALL.into_iter().find(|quantity| quantity.name() == name).ok_or_else(|| BudgetError::Unknown {
            name: name.to_string(),
            near: nearest(name, Self::ALL.iter().map(|quantity| quantity.name())),
        })
    }

    fn is_bytes(self) -> bool {
        matches!(self, Self::Stack | Self::Spills | Self::Shared)
    }
}

/// One limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub quantity: Quantity,
    /// The most that is allowed; of occupancy the least, in percent.
    pub bound: u64,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bound) = (self.quantity.name(), self.bound);
        match self.quantity {
            Quantity::Occupancy => write!(f, "{name} >= {bound}%"),
            _ if bound == 0 => write!(f, "{name} = 0"),
            _ => write!(f, "{name} <= {bound}"),
        }
    }
}

/// What is wrong with a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    #[error("a budget has no `{name}`{}; known are {}", hint(*.near), known())]
    Unknown { name: String, near: Option<&'static str> },
    #[error("`{name}` has no limit: write `{example}`")]
    NoLimit { name: &'static str, example: &'static str },
    #[error("`{0}` is limited twice")]
    Twice(&'static str),
    #[error("`{name} {operator}` limits nothing: write `{example}`")]
    Direction { name: &'static str, operator: String, example: &'static str },
    #[error("`{text}` is no limit for `{name}`: write `{example}`")]
    Value { name: &'static str, text: String, example: &'static str },
    #[error("occupancy is at most 100 %")]
    Percent,
}

fn hint(near: Option<&str>) -> String {
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

fn known() -> String {
    Quantity::ALL.map(|quantity| format!("`{}`", quantity.name())).join(", ")
}

impl Limit {
    /// Reads `<= 64` as the limit of a quantity. `=` says the same as the operator that the quantity has.
    ///
    /// # Errors
    /// The operator or the value cannot be used.
    pub fn parse(quantity: Quantity, text: &str) -> Result<Self, BudgetError> {
        let text = text.trim();
        let value = text.trim_start_matches(['<', '>', '=', '!']);
        let operator = &text[..text.len() - value.len()];
        let (name, example) = (quantity.name(), example(quantity));
        let natural = if quantity == Quantity::Occupancy { ">=" } else { "<=" };
        match operator {
            "" => return Err(BudgetError::NoLimit { name, example }),
            "=" => {}
            operator if operator == natural => {}
            _ => return Err(BudgetError::Direction { name, operator: operator.to_string(), example }),
        }
        Self::of_value(quantity, value)
    }

    /// Reads the value alone, as settings have it.
    ///
    /// # Errors
    /// It is no number, or has a unit that the quantity does not have.
    pub fn of_value(quantity: Quantity, text: &str) -> Result<Self, BudgetError> {
        let text = text.trim();
        let wrong = || BudgetError::Value { name: quantity.name(), text: text.to_string(), example: example(quantity) };
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
        let factor = match text[digits..].trim() {
            "" => 1,
            "%" if quantity == Quantity::Occupancy => 1,
            "B" if quantity.is_bytes() => 1,
            "K" | "KiB" if quantity.is_bytes() => 1 << 10,
            _ => return Err(wrong()),
        };
        if quantity == Quantity::Occupancy && number > 100 {
            return Err(BudgetError::Percent);
        }
        Ok(Self { quantity, bound: number.checked_mul(factor).ok_or_else(wrong)? })
    }
}

fn example(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Stack => "stack = 0",
        Quantity::Spills => "spills = 0",
        Quantity::Registers => "registers <= 64",
        Quantity::Shared => "shared <= 48K",
        Quantity::Occupancy => "occupancy >= 50%",
    }
}

/// Adds a limit to others.
///
/// # Errors
/// Its quantity is limited already.
pub fn add(limits: &mut Vec<Limit>, limit: Limit) -> Result<(), BudgetError> {
    if limits.iter().any(|known| known.quantity == limit.quantity) {
        return Err(BudgetError::Twice(limit.quantity.name()));
    }
    limits.push(limit);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<String, String> {
        let limit = Quantity::parse(name).and_then(|quantity| Limit::parse(quantity, text));
        limit.map(|limit| limit.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn limits_are_read_with_their_units() {
        for (name, text, expected) in [
            ("stack", "= 0", "stack = 0"),
            ("stack", "<=16 B", "stack <= 16"),
            ("spills", "=0", "spills = 0"),
            ("registers", "<= 64", "registers <= 64"),
            ("registers", "= 64", "registers <= 64"),
            ("shared", "<= 48K", "shared <= 49152"),
            ("shared", "<= 48 KiB", "shared <= 49152"),
            ("occupancy", ">= 50%", "occupancy >= 50%"),
            ("occupancy", "= 50 %", "occupancy >= 50%"),
            ("occupancy", ">=50", "occupancy >= 50%"),
        ] {
            assert_eq!(parse(name, text).as_deref(), Ok(expected), "{name} {text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_a_remedy() {
        for (name, text, expected) in [
            ("register", "<= 64", "did you mean `registers`?"),
            ("warps", ">= 8", "known are `stack`, `spills`, `registers`, `shared`, `occupancy`"),
            ("registers", "", "`registers` has no limit: write `registers <= 64`"),
            ("registers", "64", "`registers` has no limit"),
            ("registers", ">= 64", "`registers >=` limits nothing: write `registers <= 64`"),
            ("registers", "< 64", "`registers <` limits nothing"),
            ("occupancy", "<= 50%", "`occupancy <=` limits nothing: write `occupancy >= 50%`"),
            ("registers", "<= few", "`few` is no limit for `registers`"),
            ("registers", "<= 64K", "`64K` is no limit for `registers`"),
            ("stack", "= 0%", "`0%` is no limit for `stack`"),
            ("stack", "= -1", "`-1` is no limit for `stack`"),
            ("shared", "<= 99999999999999999999", "is no limit"),
            ("shared", "<= 18446744073709551615K", "is no limit"),
            ("occupancy", ">= 101%", "at most 100 %"),
        ] {
            let error = parse(name, text).unwrap_err();
            assert!(error.contains(expected), "{name} {text}: {error}");
        }
        let mut limits = Vec::new();
        let limit = Limit { quantity: Quantity::Stack, bound: 0 };
        assert_eq!(add(&mut limits, limit), Ok(()));
        assert_eq!(add(&mut limits, limit), Err(BudgetError::Twice("stack")));
    }
}
