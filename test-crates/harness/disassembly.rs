//! Compares our reading of a cubin with nvdisasm's text.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lmem_base::gpu::Arch;
use lmem_unit::Artifacts;
use nv_code::{AccessKind, AddressBase, Cubin, CubinFunction, LocalInstruction, SassFunction};

use super::{Problem, all};

/// A file and a line.
type Line = (String, u32);

/// One instruction as nvdisasm prints it.
struct Row {
    text: String,
    is_spill: bool,
    /// The inline chain, innermost first.
    source: Vec<Line>,
    /// Whether the source was printed for this instruction, and not carried over from an earlier one.
    has_mark: bool,
    ptx_line: Option<u32>,
}

/// Compares all instructions of a cubin; returns the number of local accesses.
pub fn compare(nvdisasm: &Path, artifacts: &Artifacts) -> Result<usize, Problem> {
    let text = disassemble(nvdisasm, &artifacts.cubin)?;
    let functions = parse(&text);
    let cubin = Cubin::parse(&artifacts.cubin).map_err(|error| error.to_string())?;
    let arch = artifacts.arch();
    let mut problems = Vec::new();
    let mut compared = 0;
    for (name, rows) in &functions {
        match cubin.functions.iter().find(|function| function.name == *name) {
            Some(function) => compared += compare_function(function, rows, &cubin, arch, &mut problems),
            None => problems.push(format!("  `{name}` was not read")),
        }
    }
    all(problems).map(|()| compared)
}

/// Removes repeated levels. Some rows name a row of the same line as their call site, which the PTX does not. nvdisasm
/// prints no mark if the innermost line stays the same, so its text may show either.
fn levels(mut chain: Vec<Line>) -> Vec<Line> {
    chain.dedup();
    chain
}

fn disassemble(nvdisasm: &Path, cubin: &[u8]) -> Result<String, Problem> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    fs_err::write(file.path(), cubin).map_err(|error| error.to_string())?;
    let output = Command::new(nvdisasm).args(["-c", "-gi", "-gp"]).arg(file.path()).output();
    let output = output.map_err(|error| format!("`{}`: {error}", nvdisasm.display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn compare_function(
    function: &CubinFunction,
    rows: &BTreeMap<u32, Row>,
    cubin: &Cubin,
    arch: Arch,
    problems: &mut Vec<Problem>,
) -> usize {
    let decoded = SassFunction::new(&function.code, arch).local_instructions();
    let decoded: BTreeMap<u32, LocalInstruction> = decoded.into_iter().map(|it| (it.offset, it)).collect();
    for (offset, row) in rows {
        let mut differ = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                problems.push(format!(
                    "  `{}` {offset:#06x} `{}`: {what} {ours}, nvdisasm {theirs}",
                    function.name, row.text
                ));
            }
        };
        differ("access", format!("{:?}", decoded.get(offset)), format!("{:?}", local_instruction(*offset, &row.text)));
        differ("spill mark", function.spill_marks.contains(offset).to_string(), row.is_spill.to_string());
        let address = function.base + u64::from(*offset);
        let chain = cubin.source_lines.chain(address);
        let chain: Vec<Line> = chain.map(|(_, row)| (plain(&row.file), row.line)).collect();
        // A function called twice in one statement: only the call site differs, and nvdisasm prints nothing.
        let levels_printed = if row.has_mark { usize::MAX } else { 1 };
        let printed = |chain: Vec<Line>| levels(chain).into_iter().take(levels_printed).collect::<Vec<_>>();
        // At the start of a function, nvdisasm omits a line that equals the last line of the previous function.
        if !row.source.is_empty() {
            differ("source", format!("{:?}", printed(chain)), format!("{:?}", printed(row.source.clone())));
        }
        let ptx_line = cubin.ptx_lines.row(address).map(|row| row.line);
        differ("PTX line", format!("{ptx_line:?}"), format!("{:?}", row.ptx_line));
    }
    decoded.len()
}

/// Functions by name, instructions by offset.
fn parse(text: &str) -> BTreeMap<String, BTreeMap<u32, Row>> {
    let mut functions: BTreeMap<String, BTreeMap<u32, Row>> = BTreeMap::new();
    let mut function = String::new();
    let mut source: Vec<Line> = Vec::new();
    let mut ptx_line = None;
    // Whether the previous line says that its function is inlined in that of the next line.
    let mut continues = false;
    let mut has_mark = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix(".section\t.text.").and_then(|rest| rest.split([',', '"']).next()) {
            function = name.to_string();
            (source, ptx_line, continues) = (Vec::new(), None, false);
        } else if let Some((file, number, inlined)) = mark(line) {
            // In relocatable units, a number follows the name.
            if file.starts_with(".nv_debug_ptx_txt") {
                ptx_line = Some(number);
                continue;
            }
            if !continues {
                source.clear();
            }
            source.push((plain(file), number));
            continues = inlined;
            has_mark = true;
        } else if let Some((offset, text)) = instruction(line) {
            let is_spill = text.contains("(*\"SpillRefill\"*)");
            let text = text.split([';', '(']).next().unwrap_or(text).trim().to_string();
            let row = Row { text, is_spill, source: source.clone(), has_mark: std::mem::take(&mut has_mark), ptx_line };
            functions.entry(function.clone()).or_default().insert(offset, row);
        }
    }
    functions
}

/// Normalizes a path: nvdisasm resolves some `..` and slashes, but not all.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Parses `//## File "a.cu", line 9 inlined at "b.cu", line 24`.
fn mark(line: &str) -> Option<(&str, u32, bool)> {
    let rest = line.strip_prefix("//## File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((file, rest[..end].parse().ok()?, rest.contains("inlined at")))
}

/// Parses `/*0020*/ EXIT ;`.
fn instruction(line: &str) -> Option<(u32, &str)> {
    let (offset, text) = line.strip_prefix("/*")?.split_once("*/")?;
    Some((u32::from_str_radix(offset, 16).ok()?, text.trim()))
}

/// Parses `@P1 LDL.64 R12, [R19+UR4+-0x8]`.
fn local_instruction(offset: u32, text: &str) -> Option<LocalInstruction> {
    let text = if text.starts_with('@') { text.split_once(' ')?.1.trim() } else { text };
    let (opcode, operands) = text.split_once(' ')?;
    let mut modifiers = opcode.split('.');
    let kind = match modifiers.next()? {
        "LDL" => AccessKind::Load,
        "STL" => AccessKind::Store,
        _ => return None,
    };
    let width = |modifier: &str| match modifier {
        "U8" | "S8" => Some(1),
        "U16" | "S16" => Some(2),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    };
    let bytes = modifiers.find_map(width).unwrap_or(4);
    let (before, rest) = operands.split_once('[')?;
    let (address, after) = rest.split_once(']')?;
    let data = if kind == AccessKind::Load { before } else { after };
    let data = register(data.trim_matches([',', ' ']), "R")?;
    let (base, immediate) = address_of(address)?;
    Some(LocalInstruction { offset, kind, bytes, base, immediate, data })
}

fn address_of(text: &str) -> Option<(AddressBase, i32)> {
    let (mut plain, mut uniform, mut immediate) = (None, None, 0);
    for term in text.split('+') {
        if term.starts_with("UR") {
            uniform = Some(register(term, "UR")?);
        } else if term.starts_with('R') {
            plain = register(term, "R").filter(|number| *number != 255);
        } else {
            let (sign, digits) = term.strip_prefix('-').map_or((1, term), |rest| (-1, rest));
            immediate = sign * i32::from_str_radix(digits.trim_start_matches("0x"), 16).ok()?;
        }
    }
    let base = match (uniform, plain) {
        (Some(uniform), register) => AddressBase::Uniform { uniform, register },
        (None, Some(1)) => AddressBase::Stack,
        (None, Some(register)) => AddressBase::Register(register),
        (None, None) => AddressBase::Absolute,
    };
    Some((base, immediate))
}

/// The number of `R12` or `R12.reuse`; 255 for `RZ`.
fn register(text: &str, prefix: &str) -> Option<u8> {
    let digits = text.split('.').next()?.strip_prefix(prefix)?;
    if digits == "Z" { Some(255) } else { digits.parse().ok() }
}
