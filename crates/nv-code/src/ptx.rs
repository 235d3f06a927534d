//! PTX text: functions, their local variables, and every instruction with its source place.
//!
//! The grammar is that of NVIDIA's "Parallel Thread Execution ISA"; what local memory does not need is
//! skipped. ptxas has accepted the text before it comes here, unless it is a user's own.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use thiserror::Error;

use lmem_base::mangling::without_copy_number;
use lmem_base::source::unescape_path;

/// Statements beyond this are not read: no real module has them, and it bounds memory on hostile input.
const MAX_INSTRUCTIONS: usize = 8_000_000;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum PtxError {
    #[error("more than {MAX_INSTRUCTIONS} instructions")]
    TooLarge,
}

/// One `.loc`: a place in a source file, and where that code was inlined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Number of the `.file`.
    pub file: u32,
    pub line: u32,
    /// Bytes from the start of the line, from 1; 0 where the front end gives none.
    pub column: u32,
    /// Index of the location in the function where this code was inlined.
    pub inlined_at: Option<usize>,
    /// The function that was inlined, by its mangled name.
    pub function: Option<Arc<str>>,
}

impl Location {
    /// Whether it is the place of another one, and says nothing of where it is inlined.
    fn is_same_line(&self, other: &Self) -> bool {
        let place = |location: &Self| (location.file, location.line, location.column);
        place(self) == place(other) && self.inlined_at.is_none() && self.line > 0
    }
}

/// An array in `.local` memory: the depot that the compiler lays out, a variable of hand-written PTX, or what `alloca`
/// gives at run time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtxVariable {
    /// For `alloca` the register that holds its address.
    pub name: String,
    /// 0 for `alloca`.
    pub bytes: u64,
    /// The `alloca` instruction.
    pub allocated_by: Option<usize>,
    /// Number of the parameter of a function that is no kernel: memory of its caller, or a copy of it.
    pub parameter: Option<usize>,
}

impl PtxVariable {
    /// Whether the compiler laid it out for all variables of a function; others are one object each.
    pub fn is_depot(&self) -> bool {
        self.allocated_by.is_none() && self.name.starts_with("__local_depot")
    }
}

/// A statement that is not a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// First and last line of the PTX, from 1.
    pub lines: RangeInclusive<u32>,
    /// The predicate register that guards it.
    pub guard: Option<String>,
    /// `ld.local.f32`
    pub opcode: String,
    /// Operands as written, `[…]` and `{…}` kept whole.
    pub operands: Vec<String>,
    /// Index into [`PtxFunction::locations`].
    pub location: Option<usize>,
}

/// `[%rd1+4]`, `[__local_depot0+8]`, `[8]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressOperand {
    /// Register or symbol; empty for a bare number.
    pub base: String,
    pub offset: i64,
}

/// A kernel or a function that kernels call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtxFunction {
    pub name: String,
    pub is_entry: bool,
    /// Lines of the PTX from the opening to the closing brace.
    pub lines: Option<RangeInclusive<u32>>,
    pub instructions: Vec<Instruction>,
    pub locations: Vec<Location>,
    pub local_variables: Vec<PtxVariable>,
    /// Label → index of the instruction that follows it.
    pub labels: HashMap<String, usize>,
    /// `.maxntid x, y, z`, multiplied.
    pub max_threads: Option<u32>,
    /// `.reqntid x, y, z`, multiplied.
    pub required_threads: Option<u32>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// Tables of an indirect branch: label → the labels it may go to.
    pub branch_targets: HashMap<String, Vec<String>>,
    /// Call instruction → bytes of the value that it returns.
    pub returned_bytes: HashMap<usize, u64>,
    /// Texts of `.pragma "…";`, those for single loops too.
    pub pragmas: Vec<String>,
}

/// A whole PTX text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtxModule {
    pub files: HashMap<u32, String>,
    pub functions: Vec<PtxFunction>,
    /// Names of `.extern .shared` variables: dynamic shared memory.
    pub extern_shared: Vec<String>,
    /// `sm_90`
    pub target: Option<String>,
    /// Built with `-G`: `.target sm_90, debug`.
    pub debug: bool,
    /// Names in the initial values of variables: functions whose address is in a table.
    pub initial_names: HashSet<String>,
}

impl Instruction {
    /// The parts of the opcode: `ld`, `local`, `f32`.
    pub fn has(&self, part: &str) -> bool {
        self.opcode.split('.').any(|candidate| candidate == part)
    }

    /// The first part: `ld`.
    pub fn mnemonic(&self) -> &str {
        self.opcode.split('.').next().unwrap_or("")
    }

    /// The first `[…]` operand.
    pub fn address(&self) -> Option<AddressOperand> {
        self.operands.iter().find_map(|operand| AddressOperand::parse(operand))
    }

    /// Bytes of one element that a load or store moves: 4 of `ld.local.v4.u32`.
    pub fn element_bytes(&self) -> Option<u64> {
        let bits: u64 =
            self.opcode.rsplit('.').next()?.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
        Some(bits / 8).filter(|bytes| *bytes > 0)
    }

    /// Whether this reads or writes `.local` memory by name.
    pub fn is_local_access(&self) -> bool {
        matches!(self.mnemonic(), "ld" | "st") && self.has("local")
    }
}

impl AddressOperand {
    pub fn parse(operand: &str) -> Option<Self> {
        let inner = operand.strip_prefix('[')?.strip_suffix(']')?.trim();
        let (base, offset) = match inner.find(['+', '-']) {
            Some(at) if at > 0 => {
                let digits = inner[at..].trim_start_matches('+').replace(' ', "");
                (inner[..at].trim(), digits.trim_start_matches('+').parse().ok()?)
            }
            _ => (inner, 0),
        };
        if base.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(Self { base: String::new(), offset: base.parse().ok()? });
        }
        Some(Self { base: base.to_string(), offset })
    }
}

impl PtxFunction {
    /// The instruction that covers a line of the PTX.
    pub fn instruction_at(&self, line: u32) -> Option<usize> {
        let index = self.instructions.partition_point(|instruction| *instruction.lines.end() < line);
        let instruction = self.instructions.get(index)?;
        instruction.lines.contains(&line).then_some(index)
    }

    /// The location and the places it is inlined at, innermost first.
    pub fn location_chain(&self, index: usize) -> Vec<&Location> {
        let mut chain: Vec<&Location> = Vec::new();
        let mut next = Some(index);
        while let Some(location) = next.and_then(|index| self.locations.get(index)) {
            chain.push(location);
            // `inlined_at` always points to an earlier location, so this ends.
            next = location.inlined_at;
        }
        chain
    }
}

impl PtxFunction {
    /// Whether an instruction names a symbol, in an address or as a value.
    pub fn mentions(&self, symbol: &str) -> bool {
        let is_part = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%'));
        let operands = self.instructions.iter().flat_map(|instruction| &instruction.operands);
        operands.into_iter().any(|operand| operand.split(is_part).any(|word| word == symbol))
    }

    pub fn has_pragma(&self, name: &str) -> bool {
        self.pragmas.iter().any(|pragma| pragma == name)
    }
}

impl PtxModule {
    /// Reads a module. Lines that make no sense are skipped: ptxas judges them, not we.
    ///
    /// # Errors
    /// The text is larger than any real module.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        let mut parser = Parser::default();
        for statement in Statements::new(text) {
            parser.read(&statement)?;
        }
        parser.name_functions();
        Ok(parser.module)
    }

    /// The function whose body covers a line.
    pub fn function_at(&self, line: u32) -> Option<&PtxFunction> {
        self.functions.iter().find(|function| function.lines.as_ref().is_some_and(|lines| lines.contains(&line)))
    }

    /// A function with a body. With `-rdc` ptxas makes a copy `name$1` of a function for callers in the same unit.
    pub fn function(&self, name: &str) -> Option<&PtxFunction> {
        let find =
            |name: &str| self.functions.iter().find(|function| function.name == name && function.lines.is_some());
        find(name).or_else(|| find(without_copy_number(name)?))
    }

    /// Whether a function may be called through a pointer: its name stands in a table, or is used as a value.
    pub fn is_address_taken(&self, name: &str) -> bool {
        let is_value = |instruction: &Instruction| {
            instruction.mnemonic() == "mov" && instruction.operands.get(1).is_some_and(|operand| operand == name)
        };
        self.initial_names.contains(name)
            || self.functions.iter().any(|function| function.instructions.iter().any(is_value))
    }
}

/// A piece of PTX up to `;`, `{`, `}`, a label's `:`, or the end of a line that is a directive without `;`.
#[derive(Debug, PartialEq, Eq)]
struct Statement {
    text: String,
    lines: RangeInclusive<u32>,
    end: char,
}

/// Splits a text into statements; comments are left out, strings kept whole.
struct Statements<'a> {
    characters: std::iter::Peekable<std::str::CharIndices<'a>>,
    text: &'a str,
    line: u32,
}

impl<'a> Statements<'a> {
    fn new(text: &'a str) -> Self {
        Self { characters: text.char_indices().peekable(), text, line: 1 }
    }

    fn skip_comment(&mut self, offset: usize) -> bool {
        let rest = &self.text[offset..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            return false;
        };
        while self.characters.peek().is_some_and(|(at, _)| *at < offset + length) {
            if let Some((_, '\n')) = self.characters.next() {
                self.line += 1;
            }
        }
        true
    }
}

/// Directives that end with their line.
fn ends_with_line(text: &str) -> bool {
    const DIRECTIVES: [&str; 8] = [".loc", ".file", ".version", ".target", ".address_size", ".section", ".b8", ".b"];
    let word = text.split_ascii_whitespace().next().unwrap_or("");
    DIRECTIVES.contains(&word) || word.starts_with(".b8") || word.starts_with(".b32") || word.starts_with(".b64")
}

impl Iterator for Statements<'_> {
    type Item = Statement;

    fn next(&mut self) -> Option<Self::Item> {
        let mut text = String::new();
        let mut start = self.line;
        // `{` opens a vector operand inside a statement and a block elsewhere.
        let mut depth = 0u32;
        loop {
            let Some((offset, character)) = self.characters.peek().copied() else {
                let lines = start..=self.line;
                return (!text.trim().is_empty()).then_some(Statement { text, lines, end: '\n' });
            };
            if character == '/' && self.skip_comment(offset) {
                continue;
            }
            self.characters.next();
            let line = self.line;
            let statement = |text: String, end| Statement { text, lines: start..=line, end };
            match character {
                '"' => text.push_str(&self.string()),
                '\n' => {
                    self.line += 1;
                    if depth == 0 && ends_with_line(text.trim_start()) {
                        return Some(statement(text, '\n'));
                    }
                    text.push(' ');
                }
                ';' if depth == 0 => return Some(statement(text, ';')),
                '{' if is_block_start(&text) => return Some(statement(text, '{')),
                '{' => {
                    depth += 1;
                    text.push('{');
                }
                '}' if depth > 0 => {
                    depth -= 1;
                    text.push('}');
                }
                '}' => return Some(statement(text, '}')),
                ':' if depth == 0 && is_label(text.trim()) => return Some(statement(text, ':')),
                _ => {
                    if text.trim().is_empty() {
                        start = self.line;
                    }
                    text.push(character);
                }
            }
        }
    }
}

impl Statements<'_> {
    fn string(&mut self) -> String {
        let mut text = String::from('"');
        let mut is_escaped = false;
        for (_, character) in self.characters.by_ref() {
            text.push(character);
            let was_escaped = is_escaped;
            is_escaped = character == '\\' && !was_escaped;
            match character {
                '"' if !was_escaped => break,
                '\n' => self.line += 1,
                _ => {}
            }
        }
        text
    }
}

/// Blocks follow a function header, nothing, or a section name; vectors follow an opcode or a comma.
fn is_block_start(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || text.contains(".entry")
        || text.contains(".func")
        || text.starts_with(".section")
        || text.starts_with(')')
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%'))
}

#[derive(Default)]
struct Parser {
    module: PtxModule,
    /// The function whose body is being read, and how many braces are open in it.
    current: Option<(PtxFunction, u32)>,
    location: Option<usize>,
    /// The location before code of line 0, where the last one is such.
    interrupted: Option<usize>,
    /// (file, line, column) → the newest location there, to resolve `inlined_at`.
    places: HashMap<(u32, u32, u32), usize>,
    /// The label before: the one of `label: .branchtargets a, b;`, or of a string of `.debug_str`.
    last_label: Option<String>,
    /// Bytes of the parameters of the call that is being prepared, by name.
    call_parameters: HashMap<String, u64>,
    /// Strings of `.debug_str` by their label; they stand after the functions that use them.
    strings: HashMap<String, String>,
    /// Their labels as locations have them until the end.
    labels: HashMap<String, Arc<str>>,
    instructions: usize,
    /// Blocks that are no function's, such as `.section .debug_str {`.
    other_blocks: u32,
}

impl Parser {
    fn read(&mut self, statement: &Statement) -> Result<(), PtxError> {
        let text = statement.text.trim();
        match (statement.end, &mut self.current) {
            ('{', Some((_, depth))) => *depth += 1,
            ('{', None) if text.contains(".entry") || text.contains(".func") => {
                self.open(text, *statement.lines.start())
            }
            ('{', None) => self.other_blocks += 1,
            ('}', Some(_)) => self.close(*statement.lines.end()),
            ('}', None) => self.other_blocks = self.other_blocks.saturating_sub(1),
            (':', None) => self.last_label = Some(text.to_string()),
            (':', Some((function, _))) => {
                function.labels.insert(text.to_string(), function.instructions.len());
                self.last_label = Some(text.to_string());
            }
            _ if text.starts_with('.') => self.directive(text),
            (_, Some(_)) if !text.is_empty() => return self.instruction(statement),
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, header: &str, line: u32) {
        let is_entry = header.contains(".entry");
        let mut function = PtxFunction { is_entry, name: function_name(header, is_entry), ..Default::default() };
        if !is_entry {
            function.local_variables = parameters(header);
        }
        function.max_threads = dimensions(header, ".maxntid");
        function.required_threads = dimensions(header, ".reqntid");
        function.min_blocks = dimensions(header, ".minnctapersm");
        function.max_registers = dimensions(header, ".maxnreg");
        function.lines = Some(line..=line);
        self.current = Some((function, 1));
        (self.location, self.interrupted) = (None, None);
        self.places.clear();
    }

    fn close(&mut self, line: u32) {
        let Some((function, depth)) = &mut self.current else { return };
        *depth -= 1;
        if *depth > 0 {
            return;
        }
        if let Some(lines) = &function.lines {
            function.lines = Some(*lines.start()..=line);
        }
        if let Some((function, _)) = self.current.take() {
            self.module.functions.push(function);
        }
    }

    fn directive(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace();
        match words.next().unwrap_or("") {
            ".loc" => self.loc(text),
            ".b8" => self.string(text),
            ".file" => self.file(text),
            ".target" => {
                let mut parts = text[".target".len()..].split(',').map(str::trim);
                self.module.target = parts.next().map(str::to_string);
                self.module.debug = parts.any(|part| part == "debug");
            }
            ".local" => self.local_variable(text),
            ".param" => {
                if let Some((name, bytes)) = declared_bytes(text) {
                    self.call_parameters.insert(name, bytes);
                }
            }
            ".extern" => self.extern_variable(text),
            ".pragma" => self.pragma(text),
            ".branchtargets" => {
                let targets = text[".branchtargets".len()..].split(',').map(|label| label.trim().to_string()).collect();
                if let (Some((function, _)), Some(label)) = (&mut self.current, self.last_label.take()) {
                    function.branch_targets.insert(label, targets);
                }
            }
            _ => self.initial_value(text),
        }
    }

    /// `.global .align 8 .u64 table[2] = {_Z1fv, generic(x)}`
    fn initial_value(&mut self, text: &str) {
        let Some((_, value)) = text.split_once('=').filter(|_| self.current.is_none()) else { return };
        let words = value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
        let names = words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
        self.module.initial_names.extend(names.map(str::to_string));
    }

    /// `.file 1 "/src/a.cu"`, older toolkits add a time and a size.
    fn file(&mut self, text: &str) {
        let (head, quoted) = text.split_once('"').unwrap_or((text, ""));
        let path = closing_quote(quoted).map(|end| &quoted[..end]);
        let number = head.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok());
        if let (Some(number), Some(path)) = (number, path) {
            self.module.files.insert(number, unescape_path(path));
        }
    }

    /// `.b8 95,90,54,0`: characters up to a zero, after a label.
    fn string(&mut self, text: &str) {
        let (None, Some(label)) = (&self.current, &self.last_label) else { return };
        let bytes = text[".b8".len()..].split(',').map_while(|byte| byte.trim().parse::<u8>().ok());
        let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        self.strings.entry(label.clone()).or_default().push_str(&String::from_utf8_lossy(&bytes));
    }

    /// Labels of function names give way to the names.
    fn name_functions(&mut self) {
        let strings = self.strings.iter().map(|(label, name)| (label.as_str(), Arc::from(name.as_str())));
        let names: HashMap<&str, Arc<str>> = strings.collect();
        for location in self.module.functions.iter_mut().flat_map(|function| &mut function.locations) {
            location.function = location.function.take().and_then(|label| names.get(&*label).cloned());
        }
    }

    /// `.loc 2 5193 1, function_name $L__info_string0, inlined_at 1 24 3`
    fn loc(&mut self, text: &str) {
        let Some((function, _)) = &mut self.current else { return };
        let place = |text: &str| {
            let mut numbers = text.split_ascii_whitespace().map(|number| number.parse::<u32>().ok());
            Some((numbers.next()??, numbers.next()??, numbers.next()??))
        };
        let Some((file, line, column)) = place(text[".loc".len()..].split(',').next().unwrap_or("")) else { return };
        let inlined_at = text.split_once("inlined_at").and_then(|(_, caller)| place(caller)).map(|caller| {
            // The compiler names the caller's place before it uses it; where it did not, the place is all we know.
            *self.places.entry(caller).or_insert_with(|| {
                let (file, line, column) = caller;
                function.locations.push(Location { file, line, column, inlined_at: None, function: None });
                function.locations.len() - 1
            })
        });
        let label = text.split_once("function_name").map(|(_, rest)| rest.split(',').next().unwrap_or("").trim());
        let label = label.map(|label| Arc::clone(self.labels.entry(label.to_string()).or_insert_with(|| label.into())));
        let mut location = Location { file, line, column, inlined_at, function: label };
        // Where code without a line interrupts a statement, the compiler takes it up again without saying that it is
        // inlined.
        let interrupted = self.interrupted.take();
        if let Some(before) = interrupted.map(|before| &function.locations[before])
            && location.is_same_line(before)
        {
            location = before.clone();
        }
        if line == 0 {
            self.interrupted = self.location.filter(|before| function.locations[*before].line > 0).or(interrupted);
        }
        function.locations.push(location);
        let index = function.locations.len() - 1;
        self.places.insert((file, line, column), index);
        self.location = Some(index);
    }

    /// `.local .align 16 .b8 __local_depot1[128]`, `.local .f32 x`
    fn local_variable(&mut self, text: &str) {
        let Some((function, _)) = &mut self.current else { return };
        if let Some((name, bytes)) = declared_bytes(text) {
            function.local_variables.push(PtxVariable { name, bytes, allocated_by: None, parameter: None });
        }
    }

    /// `.extern .shared .align 16 .b8 tile[]`
    fn extern_variable(&mut self, text: &str) {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        if let (true, Some(declared)) = (words.contains(&".shared"), words.last()) {
            let name = declared.split('[').next().unwrap_or(declared);
            self.module.extern_shared.push(name.to_string());
        }
    }

    /// `.pragma "nounroll", "enable_smem_spilling"`
    fn pragma(&mut self, text: &str) {
        let Some((function, _)) = &mut self.current else { return };
        let names = text.split('"').skip(1).step_by(2);
        function.pragmas.extend(names.map(str::to_string));
    }

    fn instruction(&mut self, statement: &Statement) -> Result<(), PtxError> {
        self.instructions += 1;
        if self.instructions > MAX_INSTRUCTIONS {
            return Err(PtxError::TooLarge);
        }
        let Some((function, _)) = &mut self.current else { return Ok(()) };
        let mut text = statement.text.trim();
        let mut guard = None;
        if let Some(rest) = text.strip_prefix('@') {
            let (register, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            guard = Some(register.trim_start_matches('!').to_string());
            text = rest.trim_start();
        }
        let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let index = function.instructions.len();
        let operands = split_operands(operands);
        match opcode.split('.').next() {
            Some("alloca") => function.local_variables.extend(operands.first().map(|register| PtxVariable {
                name: register.clone(),
                bytes: 0,
                allocated_by: Some(index),
                parameter: None,
            })),
            Some("call") => {
                let returned = operands.first().and_then(|list| list.strip_prefix('(')?.strip_suffix(')'));
                let bytes = returned.and_then(|name| self.call_parameters.get(name.trim()).copied());
                function.returned_bytes.extend(bytes.map(|bytes| (index, bytes)));
                self.call_parameters.clear();
            }
            _ => {}
        }
        function.instructions.push(Instruction {
            lines: statement.lines.clone(),
            guard,
            opcode: opcode.to_string(),
            operands,
            location: self.location,
        });
        Ok(())
    }
}

/// Structures among the parameters of a function: `.param .align 8 .b8 f_param_0[168]`.
fn parameters(header: &str) -> Vec<PtxVariable> {
    let list = header.rsplit_once('(').map_or("", |(_, list)| list.trim_end().trim_end_matches(')'));
    let numbered = list.split(',').enumerate().filter(|(_, text)| text.contains('['));
    let variable = |(number, text): (usize, &str)| {
        let (name, bytes) = declared_bytes(text)?;
        Some(PtxVariable { name, bytes, allocated_by: None, parameter: Some(number) })
    };
    numbered.filter_map(variable).collect()
}

/// Name and size of `.local .align 16 .b8 __local_depot1[128]`.
fn declared_bytes(text: &str) -> Option<(String, u64)> {
    let declared = text.split_ascii_whitespace().next_back()?;
    let (name, extents) = declared.split_once('[').unwrap_or((declared, ""));
    let element = text.split_ascii_whitespace().find_map(element_bytes).unwrap_or(1);
    let count = extents
        .split('[')
        .filter(|extent| !extent.is_empty())
        .map(|extent| extent.trim_end_matches(']').parse::<u64>().ok())
        .try_fold(1u64, |product, extent| product.checked_mul(extent?))?;
    Some((name.to_string(), count.checked_mul(element)?))
}

/// Where a quoted text ends that may hold `\"`.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, character)| {
        let was_escaped = is_escaped;
        is_escaped = character == '\\' && !was_escaped;
        (character == '"' && !was_escaped).then_some(at)
    })
}

fn element_bytes(word: &str) -> Option<u64> {
    let digits = word.strip_prefix('.')?.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let bits: u64 = digits.parse().ok()?;
    word.starts_with(['.']).then_some(bits / 8).filter(|bytes| *bytes > 0)
}

fn function_name(header: &str, is_entry: bool) -> String {
    let keyword = if is_entry { ".entry" } else { ".func" };
    let mut rest = header.rsplit_once(keyword).map_or(header, |(_, rest)| rest).trim_start();
    // `.func (.param .b32 retval) name (…)`
    if let Some(returned) = rest.strip_prefix('(') {
        rest = returned.split_once(')').map_or("", |(_, rest)| rest).trim_start();
    }
    rest.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("").to_string()
}

/// `.maxntid 256, 2, 1` → 512. The words stand between the parameters and the body.
fn dimensions(header: &str, directive: &str) -> Option<u32> {
    let (_, rest) = header.split_once(directive)?;
    let numbers = rest.split('.').next()?;
    numbers
        .split(',')
        .map(|number| number.trim().parse::<u32>().ok())
        .try_fold(1u32, |product, number| product.checked_mul(number?))
}

/// Splits at commas outside `[…]`, `{…}` and `(…)`.
fn split_operands(text: &str) -> Vec<String> {
    let mut operands: Vec<String> = Vec::new();
    let mut depth = 0i32;
    let tidy = |operand: &str| operand.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let mut start = 0;
    for (offset, character) in text.char_indices() {
        match character {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth <= 0 => {
                operands.push(tidy(&text[start..offset]));
                start = offset + 1;
            }
            _ => {}
        }
    }
    operands.push(tidy(&text[start..]));
    operands.retain(|operand| !operand.is_empty());
    operands
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"//
.version 9.5
.target sm_90
.visible .entry _Z4histPKiPii(
	.param .u64 .ptr .align 1 _Z4histPKiPii_param_0,
	.param .u32 _Z4histPKiPii_param_2
)
.maxntid 256, 2, 1
.minnctapersm 2
{
	.local .align 16 .b8 	__local_depot1[64];
	.reg .b64 	%SPL;
	.loc	1 34 0
	mov.u64 	%SPL, __local_depot1;
	add.u64 	%rd1, %SPL, 0; add.u64 %rd2, %rd1, 4;
	.loc	2 107 1, function_name $L__info_string0, inlined_at 1 38 3
$L__BB1_2:
	@!%p1 st.local.v4.u32 	[%rd1+16], {%r1, %r2, %r3, %r4};
	{ // callseq 0, 0
	.param .b64 param0;
	st.param.b64 	[param0], %rd1;
	call.uni
	_Z3fooPf,
	(
	param0
	);
	} // callseq 0
	/* two
	lines */
	bra $L__BB1_2;
}
.file	1 "/src/a \"\303\274.cu"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,0
	}"#;

    #[test]
    fn reads_functions_variables_and_places() {
        let module = PtxModule::parse(MODULE).unwrap();
        assert_eq!(module.target.as_deref(), Some("sm_90"));
        let function = module.function("_Z4histPKiPii").unwrap();
        assert!(function.is_entry);
        assert_eq!((function.max_threads, function.min_blocks), (Some(512), Some(2)));
        assert_eq!(
            function.local_variables,
            [PtxVariable { name: "__local_depot1".into(), bytes: 64, allocated_by: None, parameter: None }]
        );
        assert_eq!(function.lines, Some(4..=31));
        let opcodes: Vec<&str> = function.instructions.iter().map(|i| i.opcode.as_str()).collect();
        assert_eq!(opcodes, ["mov.u64", "add.u64", "add.u64", "st.local.v4.u32", "st.param.b64", "call.uni", "bra"]);
        let store = &function.instructions[3];
        assert_eq!(store.guard.as_deref(), Some("%p1"));
        assert_eq!(store.address(), Some(AddressOperand { base: "%rd1".into(), offset: 16 }));
        assert_eq!(store.operands[1], "{%r1, %r2, %r3, %r4}");
        let chain = function.location_chain(store.location.unwrap());
        assert_eq!(chain.iter().map(|location| location.line).collect::<Vec<_>>(), [107, 38]);
        assert_eq!(function.labels["$L__BB1_2"], 3);
        assert_eq!(module.files[&1], "/src/a \"ü.cu");
    }

    #[test]
    fn statements_are_taken_up_again_where_they_are_inlined() {
        let text = ".entry k()\n{\n.loc 1 7 5, function_name $L__info_string0, inlined_at 1 19 9\nmov.u32 %r1, 0;\n.loc 1 0 5\n\
                    mov.u32 %r2, 0;\n.loc 1 7 5\nmov.u32 %r3, 0;\n.loc 1 20 9\nmov.u32 %r4, 0;\n.loc 1 7 5\nmov.u32 %r5, 0;\n}\n";
        let module = PtxModule::parse(text).unwrap();
        let function = &module.functions[0];
        let chains = function.instructions.iter().map(|instruction| {
            let chain = function.location_chain(instruction.location.unwrap());
            chain.iter().map(|location| location.line).collect::<Vec<_>>()
        });
        assert_eq!(chains.collect::<Vec<_>>(), [vec![7, 19], vec![0], vec![7, 19], vec![20], vec![7]]);
    }

    #[test]
    fn pragmas_and_dynamic_shared_memory_are_read() {
        let text = ".extern .shared .align 16 .b8 tile[];\n.entry k()\n{\n.pragma \"enable_smem_spilling\", \"x\";\n\
                    mov.u32 %r1, tile;\n.pragma \"nounroll\";\nld.shared.f32 %f1, [tile_2+4];\n}\n";
        let module = PtxModule::parse(text).unwrap();
        let function = module.function("k").unwrap();
        assert_eq!(function.pragmas, ["enable_smem_spilling", "x", "nounroll"]);
        assert_eq!(module.extern_shared, ["tile"]);
        assert!(function.mentions("tile") && function.mentions("tile_2") && !function.mentions("til"));
    }

    #[test]
    fn lines_find_their_instruction() {
        let module = PtxModule::parse(MODULE).unwrap();
        let function = module.function_at(24).unwrap();
        let call = function.instruction_at(24).unwrap();
        assert_eq!(function.instructions[call].operands, ["_Z3fooPf", "( param0 )"]);
        assert_eq!(module.function_at(40), None);
    }

    #[test]
    fn nonsense_does_not_stop_the_reading() {
        for text in [
            "}}}}",
            "{",
            ".entry {",
            "\"",
            "/*",
            ".loc",
            ".file x",
            "@",
            ".local",
            ".visible .entry k()\n{ ld.local [; }",
        ] {
            assert!(PtxModule::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn addresses_with_signs() {
        let parse = |text| AddressOperand::parse(text).map(|operand| (operand.base, operand.offset));
        assert_eq!(parse("[%rd1+-4]"), Some(("%rd1".into(), -4)));
        assert_eq!(parse("[x - 8]"), Some(("x".into(), -8)));
        assert_eq!(parse("[16]"), Some((String::new(), 16)));
        assert_eq!(parse("%r1"), None);
    }
}
