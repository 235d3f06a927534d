//! Parses instruction operands.

use super::{Body, Parser};
use crate::lexer::{Kind, Number, parse_number};
use crate::module::*;
use crate::words::{Opcode, SpecialRegister};

/// Limit on nested brackets; `[tensor, {x, y}]` has two levels.
const MAX_BRACKETS: usize = 6;

/// The meaning of a bare name in an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// A variable or function.
    Symbols,
    /// A branch target.
    Labels,
    /// A callee or prototype.
    Calls,
}

impl<'a> Parser<'a> {
    /// A register, declared or not; `None` if the name is not a register.
    pub(super) fn register(&mut self, body: &mut Body<'a>, word: &'a str) -> Option<Reg> {
        let name = self.name(word);
        if let Some(register) = body.scopes.register(&name, &mut body.function) {
            return Some(register);
        }
        let is_register = word.starts_with('%') && word.len() > 1 && !word.contains('.');
        is_register.then(|| body.scopes.undeclared(&name, &mut body.function))
    }

    /// Parses the operands up to and including the `;`.
    pub(super) fn operands(&mut self, body: &mut Body<'a>, form: &Form) -> Vec<Operand> {
        let names = match form.opcode {
            Opcode::Bra | Opcode::Brx => Names::Labels,
            Opcode::Call => Names::Calls,
            _ => Names::Symbols,
        };
        let mut operands = Vec::new();
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(b';') => {
                    self.lexer.next();
                    break;
                }
                // The `;` is missing and the block ends here.
                Kind::Sign(b'}') => break,
                Kind::Sign(b',' | b')' | b']') => drop(self.lexer.next()),
                _ => operands.push(self.operand(body, names, 0)),
            }
        }
        operands
    }

    fn operand(&mut self, body: &mut Body<'a>, names: Names, depth: usize) -> Operand {
        let first = self.simple_operand(body, names, depth);
        let operand = if self.lexer.take_sign(b'|') {
            let second = self.simple_operand(body, names, depth);
            Operand::Pair(Box::new((first, second)))
        } else {
            first
        };
        if self.is_at_end() { operand } else { self.opaque(body, Some(operand)) }
    }

    /// Whether an operand may end here.
    fn is_at_end(&mut self) -> bool {
        let Some(token) = self.lexer.peek() else { return true };
        matches!(token.kind, Kind::Sign(b',' | b';' | b')' | b']' | b'}'))
    }

    fn simple_operand(&mut self, body: &mut Body<'a>, names: Names, depth: usize) -> Operand {
        let Some(token) = self.lexer.peek() else { return Operand::Opaque(Box::default()) };
        match token.kind {
            Kind::Sign(b'{' | b'(' | b'[') if depth >= MAX_BRACKETS => self.opaque(body, None),
            Kind::Sign(b'{') => Operand::Vector(self.parts(body, names, depth, b'}')),
            Kind::Sign(b'(') => Operand::List(self.parts(body, names, depth, b')')),
            Kind::Sign(b'[') => self.bracket(body, depth),
            Kind::Sign(b'!') => {
                self.lexer.next();
                let word = self.lexer.take_word();
                match word.and_then(|word| self.register(body, word)) {
                    Some(register) => Operand::NotReg(register),
                    None => self.opaque(body, None),
                }
            }
            Kind::Sign(b'-' | b'+') | Kind::Number(_) => self.number(body),
            Kind::Word("_") => {
                self.lexer.next();
                Operand::Sink
            }
            Kind::Word(word) => {
                self.lexer.next();
                self.word(body, word, names)
            }
            _ => self.opaque(body, None),
        }
    }

    fn number(&mut self, body: &mut Body<'a>) -> Operand {
        let mut is_negative = false;
        while self.lexer.is_sign(b'-') || self.lexer.is_sign(b'+') {
            is_negative ^= self.lexer.is_sign(b'-');
            self.lexer.next();
        }
        let Some(token) = self.lexer.peek() else { return Operand::Opaque(Box::default()) };
        let number = match token.kind {
            Kind::Number(number) => number,
            Kind::Word(word) if is_negative && word.starts_with('%') => {
                self.lexer.next();
                return match self.register(body, word) {
                    Some(register) => Operand::NegReg(register),
                    None => self.opaque(body, None),
                };
            }
            _ => return self.opaque(body, None),
        };
        let Some(number) = parse_number(number) else { return self.opaque(body, None) };
        self.lexer.next();
        match number {
            Number::Integer(value) => {
                let value = if is_negative { value.wrapping_neg() } else { value };
                Operand::Imm(value.wrapping_add(self.offset()))
            }
            Number::Single(bits) => Operand::Single(bits ^ (u32::from(is_negative) << 31)),
            Number::Double(bits) => Operand::Double(bits ^ (u64::from(is_negative) << 63)),
        }
    }

    fn word(&mut self, body: &mut Body<'a>, word: &'a str, names: Names) -> Operand {
        // Declarations take precedence: a variable may have the name of a special register.
        let name = self.name(word);
        if let Some(register) = body.scopes.register(&name, &mut body.function) {
            return Operand::Reg(register);
        }
        if let Some(components) = body.scopes.components(word) {
            return self.whole_vector(body, word, components);
        }
        if let Some(special) = SpecialRegister::named(word) {
            return Operand::Special(special);
        }
        if let Some(register) = self.register(body, word) {
            return Operand::Reg(register);
        }
        match names {
            Names::Labels => return Operand::Label(body.scopes.label(word, &name, &mut body.function)),
            Names::Calls => {
                if let Some(prototype) = body.scopes.prototype(word) {
                    return Operand::Prototype(prototype);
                }
            }
            Names::Symbols => {}
        }
        // `%r1.b0` selects a byte in video instructions.
        if word.starts_with('%') {
            let base = word.split('.').next().unwrap_or(word);
            let registers = self.register(body, base).into_iter().collect();
            return Operand::Opaque(Box::new(Opaque { text: word.to_string(), registers }));
        }
        let offset = self.offset();
        match body.scopes.variable(word) {
            Some(variable) => Operand::Variable(variable, offset),
            None => Operand::Symbol(name, offset),
        }
    }

    /// The vector register `v` of `.reg .v4 .f32 v`, as its components.
    fn whole_vector(&mut self, body: &mut Body<'a>, word: &'a str, components: u32) -> Operand {
        let parts = ["x", "y", "z", "w"].into_iter().take(components as usize);
        let registers = parts.filter_map(|part| {
            let name = format!("{word}.{part}").into();
            body.scopes.register(&name, &mut body.function)
        });
        Operand::Vector(registers.map(Operand::Reg).collect())
    }

    /// Parses `+8`, `-8`, `+-8`; 0 if there is no offset.
    fn offset(&mut self) -> i64 {
        let mut offset = 0i64;
        while self.lexer.is_sign(b'+') || self.lexer.is_sign(b'-') {
            if !matches!(
                self.lexer.peek_second().map(|token| token.kind),
                Some(Kind::Number(_) | Kind::Sign(b'-' | b'+'))
            ) {
                break;
            }
            let mut is_negative = false;
            while self.lexer.is_sign(b'-') || self.lexer.is_sign(b'+') {
                is_negative ^= self.lexer.is_sign(b'-');
                self.lexer.next();
            }
            let Some(value) = self.lexer.take_integer() else { break };
            offset = if is_negative { offset.wrapping_sub(value) } else { offset.wrapping_add(value) };
        }
        offset
    }

    /// Parses the parts between braces or parentheses, including the opening one.
    fn parts(&mut self, body: &mut Body<'a>, names: Names, depth: usize, close: u8) -> Box<[Operand]> {
        self.lexer.next();
        self.rest_of_parts(body, names, depth, close, Vec::new())
    }

    fn rest_of_parts(
        &mut self,
        body: &mut Body<'a>,
        names: Names,
        depth: usize,
        close: u8,
        mut parts: Vec<Operand>,
    ) -> Box<[Operand]> {
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(sign) if sign == close => {
                    self.lexer.next();
                    break;
                }
                Kind::Sign(b';') => break,
                Kind::Sign(b',' | b')' | b']' | b'}') => drop(self.lexer.next()),
                _ => parts.push(self.operand(body, names, depth + 1)),
            }
        }
        parts.into_boxed_slice()
    }

    /// Parses `[%rd1+4]`, or `[name, {x, y}]` of a texture or tensor instruction.
    fn bracket(&mut self, body: &mut Body<'a>, depth: usize) -> Operand {
        self.lexer.next();
        if self.lexer.take_sign(b']') {
            return Operand::Bracket(Box::default());
        }
        let first = self.simple_operand(body, Names::Symbols, depth + 1);
        let address = match &first {
            Operand::Reg(register) => Some((AddressBase::Reg(*register), self.offset())),
            Operand::Variable(variable, offset) => Some((AddressBase::Variable(*variable), *offset)),
            Operand::Symbol(symbol, offset) => Some((AddressBase::Symbol(symbol.clone()), *offset)),
            Operand::Imm(address) => Some((AddressBase::Absolute, *address)),
            _ => None,
        };
        let first = match address {
            Some((base, offset)) => Operand::Address(Address { base, offset }),
            None => first,
        };
        if self.lexer.take_sign(b']') {
            return match first {
                address @ Operand::Address(_) => address,
                other => Operand::Bracket(Box::new([other])),
            };
        }
        let first = if self.is_at_end() { first } else { self.opaque(body, Some(first)) };
        Operand::Bracket(self.rest_of_parts(body, Names::Symbols, depth, b']', vec![first]))
    }

    /// Collects the rest of the operand as words; `before` is the part that was parsed already.
    fn opaque(&mut self, body: &mut Body<'a>, before: Option<Operand>) -> Operand {
        let mut opaque = Opaque::default();
        if let Some(operand) = before {
            collect(body, &operand, &mut opaque);
        }
        let mut depth = 0u32;
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(b';') => break,
                Kind::Sign(b',' | b')' | b']' | b'}') if depth == 0 => break,
                Kind::Sign(b'(' | b'[' | b'{') => depth = depth.saturating_add(1),
                Kind::Sign(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.lexer.next();
            if !opaque.text.is_empty() {
                opaque.text.push(' ');
            }
            match token.kind {
                Kind::Word(word) => {
                    opaque.text.push_str(word);
                    let base = if word.starts_with('%') { word.split('.').next().unwrap_or(word) } else { word };
                    if SpecialRegister::named(word).is_none() {
                        opaque.registers.extend(self.register(body, base));
                    }
                }
                Kind::Number(number) => opaque.text.push_str(number),
                Kind::Text(text) => opaque.text.push_str(text),
                Kind::Sign(sign) => opaque.text.push(char::from(sign)),
            }
        }
        Operand::Opaque(Box::new(opaque))
    }
}

/// Collects the registers and names of an operand.
fn collect(body: &Body<'_>, operand: &Operand, opaque: &mut Opaque) {
    let mut word = |text: &str| {
        if !opaque.text.is_empty() {
            opaque.text.push(' ');
        }
        opaque.text.push_str(text);
    };
    match operand {
        Operand::Reg(register) | Operand::NotReg(register) | Operand::NegReg(register) => {
            word(&body.function.register(*register).name);
            opaque.registers.push(*register);
        }
        Operand::Symbol(name, _) => word(name),
        Operand::Variable(variable, _) => word(&body.function.variable(*variable).name),
        Operand::Imm(value) => word(&value.to_string()),
        Operand::Address(Address { base: AddressBase::Reg(register), .. }) => opaque.registers.push(*register),
        Operand::Vector(parts) | Operand::List(parts) | Operand::Bracket(parts) => {
            for part in parts {
                collect(body, part, opaque);
            }
        }
        Operand::Pair(pair) => {
            collect(body, &pair.0, opaque);
            collect(body, &pair.1, opaque);
        }
        Operand::Opaque(inner) => {
            word(&inner.text);
            opaque.registers.extend(&inner.registers);
        }
        _ => {}
    }
}
