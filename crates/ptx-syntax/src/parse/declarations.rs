//! Parses function headers, variables with initializers, registers, prototypes.

use std::sync::Arc;

use super::{Body, ParseError, Parser};
use crate::initial::{Initial, InitialValue};
use crate::lexer::{Kind, Number, parse_number};
use crate::module::*;
use crate::words::{Space, Type};

/// Limit on nested braces of initializers; real ones have one level per array extent.
const MAX_BRACES: usize = 16;

impl<'a> Parser<'a> {
    /// Parses a module-scope function or variable; `word` is its first word.
    pub(super) fn declaration(&mut self, mut word: &'a str, line: u32) -> Result<(), ParseError> {
        let mut linkage = Linkage::Internal;
        loop {
            linkage = match word {
                ".visible" => Linkage::Visible,
                ".extern" => Linkage::Extern,
                ".weak" => Linkage::Weak,
                ".common" => Linkage::Common,
                ".entry" | ".func" => return self.function(word == ".entry", linkage, line),
                _ => {
                    let variables = self.variables(word, line, linkage);
                    self.module.variables.extend(variables);
                    return Ok(());
                }
            };
            match self.lexer.take_word() {
                Some(next) => word = next,
                None => return Ok(()),
            }
        }
    }

    fn function(&mut self, is_entry: bool, linkage: Linkage, line: u32) -> Result<(), ParseError> {
        let mut function =
            Function { is_entry, linkage, name: "".into(), lines: Some(line..=line), ..Function::default() };
        let mut parameters = Vec::new();
        self.attributes();
        if self.lexer.take_sign(b'(') {
            parameters.extend(self.parameters(ParameterPlace::Output));
        }
        if let Some(name) = self.lexer.take_word() {
            function.name = self.name(name);
        }
        if self.lexer.take_sign(b'(') {
            parameters.extend(self.parameters(ParameterPlace::Input));
        }
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(b'{') => {
                    self.lexer.next();
                    return self.body(function, parameters);
                }
                Kind::Sign(b'}') => break,
                Kind::Sign(b';') => {
                    self.lexer.next();
                    break;
                }
                Kind::Word(word) => {
                    self.lexer.next();
                    self.performance_directive(&mut function, word);
                }
                _ => drop(self.lexer.next()),
            }
        }
        function.lines = None;
        function.variables = parameters;
        self.module.declarations.push(function);
        Ok(())
    }

    fn performance_directive(&mut self, function: &mut Function, word: &str) {
        let mut number = || self.lexer.take_integer().and_then(|number| u32::try_from(number).ok());
        match word {
            ".maxntid" => function.max_threads = self.extents(),
            ".reqntid" => function.required_threads = self.extents(),
            ".reqnctapercluster" => function.cluster = self.extents(),
            ".minnctapersm" => function.min_blocks = number(),
            ".maxnctapersm" => function.max_blocks = number(),
            ".maxnreg" => function.max_registers = number(),
            ".maxclusterrank" => function.max_cluster_rank = number(),
            ".noreturn" => function.is_noreturn = true,
            ".pragma" => {
                while let Some(Kind::Text(text)) = self.lexer.peek().map(|token| token.kind) {
                    function.pragmas.push((text.to_string(), 0));
                    self.lexer.next();
                    self.lexer.take_sign(b',');
                }
                self.lexer.take_sign(b';');
            }
            _ => {}
        }
    }

    /// Parses dimensions such as `256, 2, 1`; missing ones are 1.
    fn extents(&mut self) -> Option<[u32; 3]> {
        let mut extents = [1; 3];
        extents[0] = u32::try_from(self.lexer.take_integer()?).ok()?;
        for extent in &mut extents[1..] {
            if !self.lexer.take_sign(b',') {
                break;
            }
            *extent = u32::try_from(self.lexer.take_integer()?).ok()?;
        }
        Some(extents)
    }

    /// Parses `.param .u64 .ptr .align 1 a, .param .align 8 .b8 b[168])`, after the opening parenthesis.
    fn parameters(&mut self, place: fn(u32) -> ParameterPlace) -> Vec<Variable> {
        let mut parameters: Vec<Variable> = Vec::new();
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(b')') => {
                    self.lexer.next();
                    break;
                }
                Kind::Sign(b'{' | b'}' | b';') => break,
                Kind::Word(word) if word.starts_with('.') => {
                    self.lexer.next();
                    let number = u32::try_from(parameters.len()).unwrap_or(u32::MAX);
                    if let Some(mut variable) = self.variable(&Head::new(word), token.line, true) {
                        variable.parameter = Some(place(number));
                        parameters.push(variable);
                    }
                }
                _ => drop(self.lexer.next()),
            }
        }
        parameters
    }

    /// Parses `(…) _ (…) .noreturn;` or `f, g;`
    pub(super) fn prototype(&mut self, name: Arc<str>, is_targets: bool) -> PrototypeInfo {
        let mut prototype = PrototypeInfo { name, outputs: Vec::new(), inputs: Vec::new(), targets: Vec::new() };
        if is_targets {
            while let Some(target) = self.lexer.take_word() {
                let target = self.name(target);
                prototype.targets.push(target);
                self.lexer.take_sign(b',');
            }
        } else {
            if self.lexer.take_sign(b'(') {
                prototype.outputs = self.parameters(ParameterPlace::Output);
            }
            self.lexer.take_word();
            if self.lexer.take_sign(b'(') {
                prototype.inputs = self.parameters(ParameterPlace::Input);
            }
        }
        self.skip_statement();
        prototype
    }

    /// Skips `.attribute(.managed)`, `.attribute(.unified(1, 2))`
    fn attributes(&mut self) {
        while let Some(Kind::Word(".attribute" | ".noreturn" | ".unique")) = self.lexer.peek().map(|token| token.kind) {
            self.lexer.next();
            self.skip_parentheses();
        }
    }

    fn skip_parentheses(&mut self) {
        if !self.lexer.is_sign(b'(') {
            return;
        }
        let mut depth = 0u32;
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(b'(') => depth = depth.saturating_add(1),
                Kind::Sign(b')') => depth = depth.saturating_sub(1),
                Kind::Sign(b';' | b'{' | b'}') => return,
                _ => {}
            }
            self.lexer.next();
            if depth == 0 {
                return;
            }
        }
    }

    /// Parses `.global .align 8 .u64 a[2] = {f, generic(x)}, b;`, after its first word.
    pub(super) fn variables(&mut self, word: &'a str, line: u32, linkage: Linkage) -> Vec<Variable> {
        let mut variables = Vec::new();
        let head = Head::new(word);
        while let Some(mut variable) = self.variable(&head, line, false) {
            variable.linkage = linkage;
            if let Some(first) = variables.first() {
                inherit(&mut variable, first);
            }
            if self.lexer.take_sign(b'=') {
                variable.initial = self.initial(&variable);
            }
            variables.push(variable);
            if !self.lexer.take_sign(b',') {
                break;
            }
        }
        self.skip_statement();
        variables
    }

    /// Parses the specifiers of a variable, its name, and its extents.
    fn variable(&mut self, head: &Head, line: u32, is_parameter: bool) -> Option<Variable> {
        let mut variable = Variable {
            name: "".into(),
            space: head.space,
            ty: Type::B8,
            vector: 1,
            align: 0,
            extents: Vec::new(),
            bytes: 0,
            linkage: Linkage::Internal,
            initial: Initial::default(),
            parameter: None,
            pointer: None,
            line,
        };
        let mut is_typed = false;
        let name = loop {
            let word = self.lexer.take_word()?;
            let Some(directive) = word.strip_prefix('.') else { break word };
            match directive {
                "align" => {
                    let align = self.lexer.take_integer().and_then(|align| u32::try_from(align).ok()).unwrap_or(0);
                    match &mut variable.pointer {
                        Some(pointer) => pointer.align = align,
                        None => variable.align = align,
                    }
                }
                "ptr" => variable.pointer = Some(PointerAttribute { space: Space::Generic, align: 4 }),
                "v2" => variable.vector = 2,
                "v4" => variable.vector = 4,
                "v8" => variable.vector = 8,
                "attribute" => self.skip_parentheses(),
                _ => match (Type::from_text(directive), Space::from_text(directive), &mut variable.pointer) {
                    (Some(ty), ..) => (variable.ty, is_typed) = (ty, true),
                    (None, Some(space), Some(pointer)) => pointer.space = space,
                    _ => {}
                },
            }
        };
        variable.name = self.name(name);
        if !is_typed && !is_parameter {
            // `.local .f32 x, y`: a variable after a comma inherits the type of the first.
            variable.align = u32::MAX;
        }
        while self.lexer.take_sign(b'[') {
            let extent = self.lexer.take_integer().map_or(0, |extent| extent.cast_unsigned());
            variable.extents.push(extent);
            while !self.lexer.take_sign(b']') {
                if matches!(
                    self.lexer.peek().map(|token| token.kind),
                    None | Some(Kind::Sign(b';' | b'{' | b'}' | b','))
                ) {
                    break;
                }
                self.lexer.next();
            }
        }
        lay_out(&mut variable);
        Some(variable)
    }

    fn initial(&mut self, variable: &Variable) -> Initial {
        // Number of elements that one item of each brace level covers.
        let mut extents = variable.extents.clone();
        if variable.vector > 1 {
            extents.push(u64::from(variable.vector));
        }
        let steps: Vec<u64> = (1..=extents.len())
            .map(|level| extents[level..].iter().fold(1u64, |product, extent| product.saturating_mul((*extent).max(1))))
            .collect();
        let mut values = Initial::default();
        let mut open: Vec<u64> = Vec::new();
        let mut at = 0u64;
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(b'{') if open.len() < MAX_BRACES => {
                    self.lexer.next();
                    open.push(at);
                }
                Kind::Sign(b'}') => {
                    let Some(start) = open.pop() else { break };
                    self.lexer.next();
                    // A brace that closes early leaves its remaining elements zero.
                    let level = open.len();
                    if level > 0 {
                        at = start.saturating_add(steps.get(level - 1).copied().unwrap_or(1));
                    }
                    if open.is_empty() {
                        break;
                    }
                }
                Kind::Sign(b',') if !open.is_empty() => drop(self.lexer.next()),
                Kind::Sign(b';' | b',' | b'{') => break,
                Kind::Text(text) => {
                    self.lexer.next();
                    for byte in text.bytes() {
                        values.push(at, variable.ty, InitialValue::Integer(i64::from(byte)));
                        at = at.saturating_add(1);
                    }
                }
                _ => {
                    values.push(at, variable.ty, self.initial_value());
                    at = at.saturating_add(1);
                }
            }
        }
        values
    }

    fn initial_value(&mut self) -> InitialValue {
        let is_negative = self.lexer.take_sign(b'-');
        let Some(token) = self.lexer.next() else { return InitialValue::Unknown };
        match token.kind {
            Kind::Number(number) => match parse_number(number) {
                Some(Number::Integer(value)) => {
                    InitialValue::Integer(if is_negative { value.wrapping_neg() } else { value })
                }
                Some(Number::Single(bits)) => InitialValue::Single(bits ^ (u32::from(is_negative) << 31)),
                Some(Number::Double(bits)) => InitialValue::Double(bits ^ (u64::from(is_negative) << 63)),
                None => InitialValue::Unknown,
            },
            Kind::Word("generic") if self.lexer.take_sign(b'(') => {
                let Some(name) = self.lexer.take_word() else { return InitialValue::Unknown };
                let name = self.name(name);
                let inner = self.initial_offset();
                self.lexer.take_sign(b')');
                let offset = inner.wrapping_add(self.initial_offset());
                InitialValue::Address { name, offset, generic: true }
            }
            // `mask(0xff00, x)`: a byte of an address, resolved by the linker.
            Kind::Word(_) if self.lexer.is_sign(b'(') => {
                self.skip_parentheses();
                InitialValue::Unknown
            }
            Kind::Word(word) => {
                let name = self.name(word);
                InitialValue::Address { name, offset: self.initial_offset(), generic: false }
            }
            _ => InitialValue::Unknown,
        }
    }

    /// Parses `+8`, `-8`, or nothing.
    fn initial_offset(&mut self) -> i64 {
        let mut offset = 0i64;
        loop {
            let is_negative = self.lexer.take_sign(b'-');
            if !is_negative && !self.lexer.take_sign(b'+') {
                return offset;
            }
            let value = self.lexer.take_integer().unwrap_or(0);
            offset = if is_negative { offset.wrapping_sub(value) } else { offset.wrapping_add(value) };
        }
    }

    /// Parses `.reg .b32 %r<10>, a;`, after the first word.
    pub(super) fn registers(&mut self, body: &mut Body<'a>) {
        let mut ty = None;
        let mut components = 1;
        while let Some(word) = self.lexer.take_word() {
            if let Some(directive) = word.strip_prefix('.') {
                match directive {
                    "v2" => components = 2,
                    "v4" => components = 4,
                    _ => ty = Type::from_text(directive).or(ty),
                }
                continue;
            }
            // With an unknown type, the registers stay undeclared; they can still be used.
            let name = self.name(word);
            let count = self.lexer.take_sign(b'<').then(|| self.lexer.take_integer()).flatten();
            self.lexer.take_sign(b'>');
            if let Some(ty) = ty {
                match count {
                    Some(count) => body.scopes.declare_range(word, ty, count.cast_unsigned()),
                    None => body.scopes.declare_register(name, ty, components),
                }
            }
            if !self.lexer.take_sign(b',') {
                break;
            }
        }
        self.skip_statement();
    }
}

/// The specifiers before the type of a variable.
struct Head {
    space: Space,
}

impl Head {
    fn new(word: &str) -> Self {
        let space = word.strip_prefix('.').and_then(Space::from_text).unwrap_or(Space::Generic);
        Self { space }
    }
}

/// Copies the type of the first variable to a variable after a comma.
fn inherit(variable: &mut Variable, first: &Variable) {
    if variable.align == u32::MAX {
        (variable.ty, variable.vector, variable.align) = (first.ty, first.vector, first.align);
        lay_out(variable);
    }
}

fn lay_out(variable: &mut Variable) {
    let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
    if variable.align == 0 {
        variable.align = u32::try_from(element).unwrap_or(1);
    }
    let bytes = variable.extents.iter().try_fold(element, |product, extent| product.checked_mul(*extent));
    variable.bytes = bytes.unwrap_or(0);
}
