//! Parses a text to a [`Module`], in one pass.
//!
//! The grammar is that of NVIDIA's "Parallel Thread Execution ISA", chapters 4 and 5. Unknown parts are not an error;
//! they are kept as `Unknown` or `Opaque`.

mod declarations;
mod locations;
mod operands;
mod scopes;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::lexer::{Kind, Lexer};
use crate::module::*;

use locations::Locations;
pub use locations::unescape_path;
use scopes::Scopes;

/// Limit on instructions: no real module reaches it, and it bounds memory on hostile input.
const MAX_INSTRUCTIONS: usize = 8_000_000;
/// Limit on nested blocks; inline assembly has two or three levels.
const MAX_DEPTH: usize = 256;

/// Why a text was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// More instructions than any real module has.
    TooLarge,
    /// Blocks are nested deeper than any real module nests them.
    TooDeep,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(formatter, "more than {MAX_INSTRUCTIONS} instructions"),
            Self::TooDeep => write!(formatter, "blocks nested deeper than {MAX_DEPTH}"),
        }
    }
}

impl std::error::Error for ParseError {}

impl Module {
    /// Parses a module. Invalid parts are kept as unknown or skipped: ptxas checks the text, this parser does not.
    ///
    /// # Errors
    /// The text is larger, or nested deeper, than any real module.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser {
            lexer: Lexer::new(text),
            module: Module { address_bits: 64, ..Module::default() },
            names: HashMap::new(),
            forms: HashMap::new(),
            instructions: 0,
            last_label: None,
            strings: HashMap::new(),
            other_blocks: 0,
        };
        parser.module()?;
        Ok(parser.finish())
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    module: Module,
    /// Interned names.
    names: HashMap<&'a str, Arc<str>>,
    forms: HashMap<&'a str, Arc<Form>>,
    instructions: usize,
    /// The last label at module scope, for a string in `.debug_str`.
    last_label: Option<&'a str>,
    /// Strings in `.debug_str` by label; they follow the functions that use them.
    strings: HashMap<&'a str, Vec<u8>>,
    /// Depth of open blocks outside functions, such as `.section .debug_str {`.
    other_blocks: usize,
}

/// The function being parsed.
struct Body<'a> {
    function: Function,
    scopes: Scopes<'a>,
    locations: Locations,
}

impl<'a> Parser<'a> {
    fn name(&mut self, text: &'a str) -> Arc<str> {
        Arc::clone(self.names.entry(text).or_insert_with(|| text.into()))
    }

    fn form(&mut self, text: &'a str) -> Arc<Form> {
        Arc::clone(self.forms.entry(text).or_insert_with(|| Arc::new(Form::parse(text))))
    }

    fn module(&mut self) -> Result<(), ParseError> {
        while let Some(token) = self.lexer.next() {
            match token.kind {
                Kind::Word(word) if word.starts_with('.') => self.module_directive(word, token.line)?,
                Kind::Word(word) if self.lexer.take_sign(b':') => self.last_label = Some(word),
                Kind::Sign(b'{') => self.other_blocks += 1,
                Kind::Sign(b'}') => self.other_blocks = self.other_blocks.saturating_sub(1),
                _ => {}
            }
        }
        Ok(())
    }

    fn module_directive(&mut self, word: &'a str, line: u32) -> Result<(), ParseError> {
        match word {
            ".version" => self.version(line),
            ".target" => self.target(line),
            ".address_size" => {
                if let Some(bits) = self.lexer.take_integer() {
                    self.module.address_bits = u32::try_from(bits).unwrap_or(64);
                }
            }
            ".file" => self.file(line),
            ".section" | ".loc" | ".b16" | ".b32" | ".b64" => while self.section_token(line) {},
            ".b8" => self.string_bytes(line),
            ".alias" => self.alias(),
            ".pragma" => self.skip_statement(),
            ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" | ".global" | ".const" | ".shared"
            | ".local" | ".param" | ".reg" | ".tex" => return self.declaration(word, line),
            _ => {}
        }
        Ok(())
    }

    /// Skips a token of a line that is not parsed; stops before a brace.
    fn section_token(&mut self, line: u32) -> bool {
        !self.lexer.is_sign(b'{') && !self.lexer.is_sign(b'}') && self.lexer.next_on_line(line).is_some()
    }

    /// Skips up to and including the next `;`, but no brace.
    fn skip_statement(&mut self) {
        while let Some(token) = self.lexer.peek() {
            match token.kind {
                Kind::Sign(b';') => {
                    self.lexer.next();
                    return;
                }
                Kind::Sign(b'{' | b'}') => return,
                _ => self.lexer.next(),
            };
        }
    }

    fn version(&mut self, line: u32) {
        if let Some(Kind::Number(number)) = self.lexer.next_on_line(line).map(|token| token.kind) {
            let parts = number.split_once('.').unwrap_or((number, "0"));
            self.module.version = parts.0.parse().ok().zip(parts.1.parse().ok());
        }
    }

    fn target(&mut self, line: u32) {
        let mut words = Vec::new();
        while let Some(token) = self.lexer.next_on_line(line) {
            if let Kind::Word(word) = token.kind {
                words.push(word.to_string());
            }
        }
        let mut words = words.into_iter();
        self.module.target = words.next();
        self.module.target_options = words.collect();
    }

    /// Parses `.file 1 "/src/a.cu"`; older toolkits add a time and a size.
    fn file(&mut self, line: u32) {
        let mut number = None;
        let mut path = None;
        while let Some(token) = self.lexer.next_on_line(line) {
            match token.kind {
                Kind::Number(text) if number.is_none() && path.is_none() => number = text.parse().ok(),
                Kind::Text(text) if path.is_none() => path = Some(locations::unescape_path(text)),
                _ => {}
            }
        }
        if let (Some(number), Some(path)) = (number, path) {
            self.module.files.insert(number, path);
        }
    }

    /// Parses `.b8 95,90,54,0`, a zero-terminated string after a label.
    fn string_bytes(&mut self, line: u32) {
        let mut bytes = Vec::new();
        let mut is_over = false;
        while let Some(token) = self.lexer.peek().filter(|token| token.line == line) {
            match token.kind {
                Kind::Number(number) => match number.parse::<u8>() {
                    Ok(byte) if byte != 0 && !is_over => bytes.push(byte),
                    _ => is_over = true,
                },
                Kind::Sign(b',') => {}
                Kind::Sign(b'{' | b'}') => break,
                _ => is_over = true,
            }
            self.lexer.next();
        }
        if let Some(label) = self.last_label {
            self.strings.entry(label).or_default().extend(bytes);
        }
    }

    fn alias(&mut self) {
        let first = self.lexer.take_word();
        self.lexer.take_sign(b',');
        let second = self.lexer.take_word();
        if let (Some(first), Some(second)) = (first, second) {
            let pair = (self.name(first), self.name(second));
            self.module.aliases.push(pair);
        }
        self.skip_statement();
    }

    /// Parses the statements of a function, after the opening brace.
    fn body(&mut self, function: Function, parameters: Vec<Variable>) -> Result<(), ParseError> {
        let mut body = Body { function, scopes: Scopes::default(), locations: Locations::default() };
        for variable in parameters {
            body.declare(variable);
        }
        while let Some(token) = self.lexer.next() {
            match token.kind {
                Kind::Sign(b'{') if body.scopes.depth() >= MAX_DEPTH => return Err(ParseError::TooDeep),
                Kind::Sign(b'{') => body.scopes.open(),
                Kind::Sign(b'}') if body.scopes.close() => break,
                Kind::Sign(b'@') => {
                    let guard = self.guard(&mut body);
                    if let Some(opcode) = self.lexer.take_word() {
                        self.instruction(&mut body, opcode, guard, token.line)?;
                    }
                }
                Kind::Word(word) if word.starts_with('.') => self.body_directive(&mut body, word, token.line),
                Kind::Word(word) if self.lexer.take_sign(b':') => self.label(&mut body, word),
                Kind::Word(word) => self.instruction(&mut body, word, None, token.line)?,
                // The end of an inner block, or an invalid token.
                _ => {}
            }
        }
        let Body { mut function, scopes, .. } = body;
        scopes.finish(&mut function);
        function.lines = function.lines.map(|lines| *lines.start()..=self.lexer.last_line);
        self.module.functions.push(function);
        Ok(())
    }

    /// Parses `name:` before an instruction, a branch table, or a prototype.
    fn label(&mut self, body: &mut Body<'a>, word: &'a str) {
        let directive = self.lexer.peek().and_then(|token| match token.kind {
            Kind::Word(directive @ (".branchtargets" | ".callprototype" | ".calltargets")) => Some(directive),
            _ => None,
        });
        if directive.is_some() {
            self.lexer.next();
        }
        let name = self.name(word);
        match directive {
            Some(".branchtargets") => {
                let label = body.scopes.define_label(word, &name, &mut body.function);
                let mut targets = Vec::new();
                while let Some(target) = self.lexer.take_word() {
                    let target_name = self.name(target);
                    targets.push(body.scopes.label(target, &target_name, &mut body.function));
                    self.lexer.take_sign(b',');
                }
                body.function.branch_tables.insert(label, targets);
                self.skip_statement();
            }
            Some(directive) => {
                let prototype = self.prototype(name, directive == ".calltargets");
                body.function.prototypes.push(prototype);
                let id = Prototype::of(body.function.prototypes.len() - 1);
                body.scopes.define_prototype(word, id);
            }
            None => {
                let label = body.scopes.define_label(word, &name, &mut body.function);
                let next = u32::try_from(body.function.instructions.len()).ok();
                body.function.labels[label.index()].instruction = next;
            }
        }
    }

    fn body_directive(&mut self, body: &mut Body<'a>, word: &'a str, line: u32) {
        match word {
            ".loc" => self.loc(body, line),
            ".reg" => self.registers(body),
            ".local" | ".shared" | ".global" | ".const" | ".param" => {
                for variable in self.variables(word, line, Linkage::Internal) {
                    body.declare(variable);
                }
            }
            ".pragma" => {
                let next = u32::try_from(body.function.instructions.len()).unwrap_or(u32::MAX);
                while let Some(Kind::Text(text)) = self.lexer.peek().map(|token| token.kind) {
                    body.function.pragmas.push((text.to_string(), next));
                    self.lexer.next();
                    self.lexer.take_sign(b',');
                }
                self.skip_statement();
            }
            ".file" => self.file(line),
            ".section" => while self.section_token(line) {},
            _ => self.skip_statement(),
        }
    }

    /// Parses `%p1` or `!%p1`, after the `@`.
    fn guard(&mut self, body: &mut Body<'a>) -> Option<Guard> {
        let negated = self.lexer.take_sign(b'!');
        let word = self.lexer.take_word()?;
        let register = self.register(body, word)?;
        Some(Guard { register, negated })
    }

    fn instruction(
        &mut self,
        body: &mut Body<'a>,
        word: &'a str,
        guard: Option<Guard>,
        first_line: u32,
    ) -> Result<(), ParseError> {
        self.instructions += 1;
        if self.instructions > MAX_INSTRUCTIONS {
            return Err(ParseError::TooLarge);
        }
        let form = self.form(word);
        let operands = self.operands(body, &form);
        body.function.instructions.push(Instruction {
            form,
            guard,
            operands: operands.into_boxed_slice(),
            first_line,
            last_line: self.lexer.last_line,
            location: body.locations.current(),
        });
        Ok(())
    }

    /// Replaces string labels in locations by the function names.
    fn finish(mut self) -> Module {
        let strings = self.strings.iter();
        let names: HashMap<&str, Arc<str>> =
            strings.map(|(label, bytes)| (*label, Arc::from(&*String::from_utf8_lossy(bytes)))).collect();
        for location in self.module.functions.iter_mut().flat_map(|function| &mut function.locations) {
            location.function = location.function.take().and_then(|label| names.get(&*label).cloned());
        }
        self.module
    }
}

impl Body<'_> {
    fn declare(&mut self, variable: Variable) {
        self.scopes.declare(variable, &mut self.function);
    }
}
