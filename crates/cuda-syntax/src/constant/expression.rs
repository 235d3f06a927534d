//! Parsing and evaluating operators by precedence.
//!
//! Operands that C++ does not evaluate have a type but no value. The whole expression may still have one:
//! `false && 1 / 0` is `false`.

use super::integer::{IntegerType, Value};
use super::literal;
use super::token::{Token, TokenKind};
use super::type_name::{self, TypeName};

/// Limit on nested parentheses, operators and casts: each level takes stack space.
const MAX_DEPTH: usize = 400;

/// Limit on tokens between `<` and `>` of a qualified name. Each `<` needs lookahead; the limit keeps parsing linear.
const MAX_ARGUMENTS: usize = 64;

pub fn evaluate(text: &str, tokens: &[Token<'_>], value_of: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    let mut parser = Parser { text, tokens, at: 0, depth: 0, value_of };
    let operand = parser.conditional()?;
    (parser.at == tokens.len()).then_some(operand)?.value()
}

/// The type of a subexpression, and its value if known.
#[derive(Clone, Copy)]
struct Operand {
    integer: IntegerType,
    number: Option<i128>,
}

impl Operand {
    /// The result of an operation: unsigned types wrap around; for other types an overflow has no value.
    fn result(integer: IntegerType, number: Option<i128>) -> Self {
        let number = number.and_then(|number| match integer.is_unsigned() {
            true => integer.wrap(number),
            false => Some(number).filter(|number| integer.holds(*number)),
        });
        Self { integer, number }
    }

    fn truth(value: Option<bool>) -> Self {
        Self { integer: IntegerType::Bool, number: value.map(i128::from) }
    }

    fn size(bytes: u32) -> Self {
        Self { integer: IntegerType::UnsignedLong, number: Some(i128::from(bytes)) }
    }

    fn is_true(self) -> Option<bool> {
        self.number.map(|number| number != 0)
    }

    fn converted(self, to: IntegerType) -> Self {
        Self { integer: to, number: self.number.and_then(|number| to.wrap(number)) }
    }

    fn promoted(self) -> Self {
        self.converted(self.integer.promoted())
    }

    fn value(self) -> Option<Value> {
        Value::new(self.integer, self.number?)
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        Self { integer: value.integer_type(), number: Some(value.number()) }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    value_of: &'a dyn Fn(&str) -> Option<Value>,
}

impl Parser<'_> {
    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Option<Operand>) -> Option<Operand> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let operand = parse(self);
        self.depth -= 1;
        operand
    }

    fn operator(&self) -> Option<&'static str> {
        match self.tokens.get(self.at)?.kind {
            TokenKind::Operator(operator) => Some(operator),
            _ => None,
        }
    }

    fn take(&mut self, operator: &str) -> Option<()> {
        let found = self.operator() == Some(operator);
        self.at += usize::from(found);
        found.then_some(())
    }

    fn conditional(&mut self) -> Option<Operand> {
        self.nested(|this| {
            let condition = this.binary(0)?;
            if this.take("?").is_none() {
                return Some(condition);
            }
            let first = this.conditional()?;
            this.take(":")?;
            let second = this.conditional()?;
            Some(choice(condition, first, second))
        })
    }

    /// Binary operators with at least the precedence `least`; all are left-associative.
    fn binary(&mut self, least: u32) -> Option<Operand> {
        self.nested(|this| {
            let mut left = this.unary()?;
            while let Some((operator, precedence)) = this.operator().and_then(|it| Some((it, precedence(it)?))) {
                if precedence < least {
                    break;
                }
                this.at += 1;
                let right = this.binary(precedence + 1)?;
                left = combine(operator, left, right)?;
            }
            Some(left)
        })
    }

    fn unary(&mut self) -> Option<Operand> {
        self.nested(|this| {
            if let Some(operator @ ("+" | "-" | "~" | "!")) = this.operator() {
                this.at += 1;
                let operand = this.unary()?;
                return Some(signed(operator, operand));
            }
            match this.tokens.get(this.at)?.kind {
                TokenKind::Operator("(") => match this.type_in(")", this.at + 1) {
                    Some((name, end)) => {
                        this.at = end;
                        let operand = this.unary()?;
                        cast(operand, name)
                    }
                    None => this.primary(),
                },
                TokenKind::Word("sizeof") => this.size_of(),
                TokenKind::Word("alignof") => {
                    let (name, end) = this.type_between("(", ")", this.at + 1)?;
                    this.at = end;
                    Some(Operand::size(name.bytes()))
                }
                _ => this.primary(),
            }
        })
    }

    /// `sizeof` of a type, or of an unevaluated expression.
    fn size_of(&mut self) -> Option<Operand> {
        self.at += 1;
        if let Some((name, end)) = self.type_between("(", ")", self.at) {
            self.at = end;
            return is_portable(name).then(|| Operand::size(name.bytes()));
        }
        // The operand of `sizeof` cannot start with a cast, but it can start with another unary operator or a
        // parenthesis.
        let operand = self.unary()?;
        is_portable(TypeName::Integer(operand.integer)).then(|| Operand::size(operand.integer.bytes()))
    }

    fn primary(&mut self) -> Option<Operand> {
        match self.tokens.get(self.at)?.kind {
            TokenKind::Number(text) => self.literal(literal::number(text)?),
            TokenKind::Character(text) => self.literal(literal::character(text)?),
            TokenKind::Word("true") => self.literal(Value::new(IntegerType::Bool, 1)?),
            TokenKind::Word("false") => self.literal(Value::new(IntegerType::Bool, 0)?),
            TokenKind::Word("static_cast") => self.static_cast(),
            TokenKind::Operator("(") => self.parenthesised(),
            TokenKind::Word(_) | TokenKind::Operator("::") => match type_name::leading(&self.tokens[self.at..]) {
                Some((name, length)) => self.functional_cast(name, length),
                None => self.name(),
            },
            TokenKind::Operator(_) => None,
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "an arm among others that may fail")]
    fn literal(&mut self, value: Value) -> Option<Operand> {
        self.at += 1;
        Some(value.into())
    }

    fn parenthesised(&mut self) -> Option<Operand> {
        self.take("(")?;
        let operand = self.conditional()?;
        self.take(")")?;
        Some(operand)
    }

    /// `static_cast<unsigned>(x)`
    fn static_cast(&mut self) -> Option<Operand> {
        let (name, end) = self.type_between("<", ">", self.at + 1)?;
        self.at = end;
        let operand = self.parenthesised()?;
        cast(operand, name)
    }

    /// `int(x)`, `std::size_t{x}`
    fn functional_cast(&mut self, name: TypeName, length: usize) -> Option<Operand> {
        let TypeName::Integer(integer) = name else { return None };
        // C++ does not allow `unsigned int(x)`: a functional cast takes a type name of one word.
        let is_of_name =
            |token: &&Token<'_>| matches!(token.kind, TokenKind::Word(word) if !matches!(word, "std" | "cuda"));
        if self.tokens[self.at..self.at + length].iter().filter(is_of_name).count() != 1 {
            return None;
        }
        self.at += length;
        let (open, close) = if self.operator() == Some("{") { ("{", "}") } else { ("(", ")") };
        self.take(open)?;
        if self.take(close).is_some() {
            return Some(Operand { integer, number: Some(0) });
        }
        let operand = self.conditional()?;
        self.take(close)?;
        let kept = operand.number.filter(|number| integer.holds(*number));
        match open {
            // Braces refuse a narrowing conversion, so the value must not change.
            "{" => kept.map(|number| Operand { integer, number: Some(number) }),
            _ => Some(operand.converted(integer)),
        }
    }

    fn name(&mut self) -> Option<Operand> {
        let end = self.name_end()?;
        let written = &self.text[self.tokens[self.at].start..self.tokens[end - 1].end];
        self.at = end;
        (self.value_of)(written).map(Operand::from)
    }

    /// The position after the last token of a name: `N`, `::ns::N`, `Traits<4>::N`.
    fn name_end(&self) -> Option<usize> {
        let kind = |at: usize| self.tokens.get(at).map(|token| token.kind);
        let mut at = self.at + usize::from(kind(self.at) == Some(TokenKind::Operator("::")));
        loop {
            let Some(TokenKind::Word(_)) = kind(at) else { return None };
            at += 1;
            if let Some(close) = self.arguments_end(at)
                && kind(close) == Some(TokenKind::Operator("::"))
            {
                at = close;
            }
            match kind(at) {
                Some(TokenKind::Operator("::")) => at += 1,
                _ => return Some(at),
            }
        }
    }

    /// The position after the `>` that closes a `<`.
    fn arguments_end(&self, open: usize) -> Option<usize> {
        let mut angles = 0usize;
        let mut brackets = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open).take(MAX_ARGUMENTS) {
            let TokenKind::Operator(operator) = token.kind else { if at == open { return None } else { continue } };
            match operator {
                "(" | "[" | "{" => brackets += 1,
                ")" | "]" | "}" => brackets = brackets.checked_sub(1)?,
                "<" if brackets == 0 => angles += 1,
                ">" if brackets == 0 => angles = angles.checked_sub(1)?,
                ">>" if brackets == 0 => angles = angles.checked_sub(2)?,
                _ => {}
            }
            if angles == 0 {
                return (at > open).then_some(at + 1);
            }
        }
        None
    }

    fn type_between(&self, open: &str, close: &str, at: usize) -> Option<(TypeName, usize)> {
        let TokenKind::Operator(operator) = self.tokens.get(at)?.kind else { return None };
        (operator == open).then(|| self.type_in(close, at + 1)).flatten()
    }

    /// The type at a token, and the position after the `close` that ends it.
    fn type_in(&self, close: &str, at: usize) -> Option<(TypeName, usize)> {
        let (name, length) = type_name::leading(self.tokens.get(at..)?)?;
        let TokenKind::Operator(operator) = self.tokens.get(at + length)?.kind else { return None };
        (operator == close).then_some((name, at + length + 1))
    }
}

fn precedence(operator: &str) -> Option<u32> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

fn cast(operand: Operand, name: TypeName) -> Option<Operand> {
    match name {
        TypeName::Integer(integer) => Some(operand.converted(integer)),
        TypeName::Other(_) => None,
    }
}

fn choice(condition: Operand, first: Operand, second: Operand) -> Operand {
    let same = first.integer == second.integer;
    let integer = if same { first.integer } else { first.integer.common(second.integer) };
    let chosen = condition.is_true().map(|it| if it { first } else { second });
    chosen.map_or(Operand { integer, number: None }, |chosen| chosen.converted(integer))
}

fn signed(operator: &str, operand: Operand) -> Operand {
    if operator == "!" {
        return Operand::truth(operand.is_true().map(|it| !it));
    }
    let Operand { integer, number } = operand.promoted();
    let number = number.map(|number| match operator {
        "-" => -number,
        "~" => !number,
        _ => number,
    });
    Operand::result(integer, number)
}

fn combine(operator: &str, left: Operand, right: Operand) -> Option<Operand> {
    match operator {
        "&&" => return Some(Operand::truth(both(left.is_true(), right.is_true()))),
        "||" => {
            return Some(Operand::truth(
                both(left.is_true().map(|it| !it), right.is_true().map(|it| !it)).map(|it| !it),
            ));
        }
        "<<" | ">>" => return Some(shifted(operator, left.promoted(), right.promoted())),
        _ => {}
    }
    let integer = left.integer.common(right.integer);
    let numbers = left.converted(integer).number.zip(right.converted(integer).number);
    let compared = |holds: fn(&i128, &i128) -> bool| Operand::truth(numbers.map(|(left, right)| holds(&left, &right)));
    // Values have 64 bits. Only a product of two unsigned values can overflow 128 bits, and it wraps around to the same
    // result.
    let computed = |compute: fn(i128, i128) -> Option<i128>| {
        Operand::result(integer, numbers.and_then(|(left, right)| compute(left, right)))
    };
    Some(match operator {
        "*" => computed(|left, right| Some(left.wrapping_mul(right))),
        "/" => computed(i128::checked_div),
        "%" => remainder(integer, numbers),
        "+" => computed(|left, right| Some(left + right)),
        "-" => computed(|left, right| Some(left - right)),
        "&" => computed(|left, right| Some(left & right)),
        "^" => computed(|left, right| Some(left ^ right)),
        "|" => computed(|left, right| Some(left | right)),
        "<" => compared(i128::lt),
        "<=" => compared(i128::le),
        ">" => compared(i128::gt),
        ">=" => compared(i128::ge),
        "==" => compared(i128::eq),
        "!=" => compared(i128::ne),
        _ => return None,
    })
}

/// The value of `&&`; short-circuits if the left side is `false`.
fn both(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    if left? { right } else { Some(false) }
}

/// A remainder is defined only where the quotient is: `INT_MIN % -1` overflows.
fn remainder(integer: IntegerType, numbers: Option<(i128, i128)>) -> Operand {
    let number = numbers.and_then(|(left, right)| {
        let quotient = left.checked_div(right)?;
        integer.holds(quotient).then(|| left % right)
    });
    Operand { integer, number }
}

/// A shift; the result has the type of the left operand. A signed left shift may reach the sign bit but must not
/// overflow it.
fn shifted(operator: &str, left: Operand, right: Operand) -> Operand {
    let integer = left.integer;
    let number = left.number.zip(right.number).and_then(|(number, count)| {
        let count = u32::try_from(count).ok().filter(|count| *count < integer.bits())?;
        match operator {
            ">>" => Some(number >> count),
            _ if integer.is_unsigned() => integer.wrap(number << count),
            _ => Some(number << count)
                .filter(|shifted| integer.unsigned().holds(*shifted))
                .and_then(|shifted| integer.wrap(shifted)),
        }
    });
    Operand { integer, number }
}

/// Whether a type has one size on all hosts: `long` has four bytes on Windows. (So has `size_t` eight, but it is another name for it here.)
fn is_portable(name: TypeName) -> bool {
    !matches!(name, TypeName::Integer(IntegerType::Long | IntegerType::UnsignedLong))
}
