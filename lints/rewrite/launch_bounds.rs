//! Launch bounds and limits that leave more registers per thread.

use cuda_syntax::Launch;
use cuda_syntax::identifiers::{is_identifier_character, occurrences};
use cuda_syntax::tree::{BoundsPlace, base_name};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::gpu::MAX_BLOCK_THREADS;
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use lmem_unit::{Token, UnitCode, each_token};

use super::Rewrite;
use super::facts::text::split_at_commas;
use super::shared::place_of;
use crate::framework::LintContext;

/// `__launch_bounds__(256, 1)` for `(256)`.
pub fn name_blocks(cx: &LintContext<'_>) -> Option<Suggestion> {
    let (span, arguments) = bounds(cx)?;
    let [threads] = arguments.as_slice() else { return None };
    let title = format!("state the minimum blocks per SM with `__launch_bounds__({}, 1)`", threads.trim());
    let place = Span::new(&span.file, span.end - 1..span.end - 1);
    let edit = Edit { span: place, replacement: ", 1".to_string(), context: span.clone() };
    Some(offer(title, in_place(cx, edit)))
}

/// `__launch_bounds__(512)` for `(512, 1)`.
pub fn drop_blocks(cx: &LintContext<'_>) -> Option<Suggestion> {
    let (span, arguments) = bounds(cx)?;
    let [threads, blocks] = arguments.as_slice() else { return None };
    let end = span.end - 1;
    let comma = end - blocks.len() - 1;
    let is_there = span.file.text().get(comma..end).is_some_and(|text| text.strip_prefix(',') == Some(*blocks));
    let has_comment = ["//", "/*"].iter().any(|mark| blocks.contains(mark));
    let title = format!("leave out the minimum blocks per SM: `__launch_bounds__({})`", threads.trim());
    let edit = Edit { span: Span::new(&span.file, comma..end), replacement: String::new(), context: span.clone() };
    (is_there && !has_comment).then(|| offer(title, in_place(cx, edit)))
}

/// Replaces the block size by that of the largest launch; `names_blocks` adds a number of blocks. Larger launches fail
/// then, so that it is a proposal to adapt unless there can be no others.
pub fn as_launched(cx: &LintContext<'_>, launch: &Launch, names_blocks: bool) -> Option<Suggestion> {
    let frame = cx.frame;
    let (span, arguments) = bounds(cx)?;
    let threads = arguments.first()?;
    // A template parameter has other values in other instances.
    let is_fixed = threads.trim().parse::<u32>().is_ok() || !frame.name.contains('<');
    let rest = match arguments.get(1) {
        Some(blocks) => format!(", {}", blocks.trim()),
        None if names_blocks => ", 1".to_string(),
        None => String::new(),
    };
    let added = if names_blocks && arguments.len() == 1 { ", 1" } else { "" };
    let start = span.start + span.text().find('(')? + 1;
    let edit = Edit {
        span: Span::new(&span.file, start..start + threads.len()),
        replacement: format!("{}{added}", launch.threads),
        context: span.clone(),
    };
    let edit = in_place(cx, edit);
    let title = format!("state the launched block size with `__launch_bounds__({}{rest})`", launch.threads);
    let suggestion = match cx.unit.has_all_launches(frame) {
        true => offer(title, edit),
        false => adapt(format!("{title} ({} is from {}; larger blocks fail)", launch.threads, place_of(launch)), edit),
    };
    let suggestion = suggestion.threads(Some(launch.threads));
    (is_fixed && arguments.len() <= 2).then_some(suggestion)
}

/// Gives the kernel its own limit, which overrides the flag for all kernels of the file. The flag is in a build, and
/// may be right for other kernels. `nvcc` has `__maxnreg__` since CUDA 12.4.
pub fn name_registers(cx: &LintContext<'_>, flag: &str, registers: Option<u32>) -> Option<Suggestion> {
    let (name, registers) = (cx.frame.span.as_ref()?, registers?);
    let is_name = !name.text().is_empty() && name.text().chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_file = matches!(cx.unit.unit.code, UnitCode::CudaFile { .. }) && cx.frame.is_entry;
    let start = Span::new(&name.file, name.start..name.start);
    let edit = Edit { span: start, replacement: format!("__maxnreg__({registers}) "), context: name.clone() };
    let title = format!("allow this kernel {registers} registers (overrides `{flag}`)");
    let suggestion = match runs_with(cx, registers) {
        true => offer(title, edit),
        false => adapt(title, edit),
    };
    (is_name && is_file).then_some(suggestion)
}

/// Whether the largest block that may be launched has that many registers for each thread. A launch fails else.
pub fn runs_with(cx: &LintContext<'_>, registers: u32) -> bool {
    let function = cx.unit.function(&cx.frame.mangled);
    let bound = function.and_then(|function| function.required_thread_count().or(function.max_thread_count()));
    let launched = cx.unit.launch(cx.frame).filter(|_| cx.unit.has_all_launches(cx.frame)).map(|it| it.threads);
    let threads = bound.or(launched).unwrap_or(MAX_BLOCK_THREADS);
    cx.arch.gpu().registers_for(threads, 1) >= registers
}

/// An edit with a number that is the programmer's to check.
fn adapt(title: String, edit: Edit) -> Suggestion {
    Rewrite::new(Applicability::HasPlaceholders, vec![edit]).within_kernel(true).suggestion(title)
}

/// Not machine-applicable: a higher limit may cost more than the spills that it saves.
fn offer(title: String, edit: Edit) -> Suggestion {
    Rewrite::new(Applicability::MaybeIncorrect, vec![edit]).within_kernel(true).suggestion(title)
}

/// The minimum blocks per SM of `__launch_bounds__(256, 5)`, changed to another number.
pub fn ask_fewer_blocks(cx: &LintContext<'_>, min_blocks: u32, blocks: u32) -> Option<Suggestion> {
    let (span, arguments) = bounds(cx)?;
    let [_, written] = arguments.as_slice() else { return None };
    let written = written.trim();
    let start = span.start + span.text().rfind(written)?;
    let argument = Span::new(&span.file, start..start + written.len());
    let is_name = written.chars().all(is_identifier_character);
    let named = own_number(span, written, min_blocks).filter(|_| is_name && cx.unit.is_one_file());
    let edit = match named {
        // Other code sees only the number.
        Some(number) => Edit::alone(number, blocks.to_string()),
        None => in_place(cx, Edit { span: argument, replacement: blocks.to_string(), context: span.clone() }),
    };
    let is_expected = match written.parse::<u32>() {
        Ok(number) => number == min_blocks,
        // A name or an expression; other instances of a template have other values.
        Err(_) => is_only_instance(cx),
    };
    let title = format!("lower the minimum blocks per SM from {min_blocks} to {blocks}");
    is_expected.then(|| offer(title, edit))
}

/// The number that a name in the bounds stands for, as `#define BLOCKS 6` or `constexpr int BLOCKS = 6;` has it, where nothing else in the
/// file uses the name.
fn own_number(bounds: &Span, name: &str, value: u32) -> Option<Span> {
    let text = bounds.file.text();
    // A macro may make the name of two parts.
    if text.contains("##") {
        return None;
    }
    // What comments say of it stays true, or is the reader's to correct.
    let within = |token: Token| {
        let start = token.range.start;
        occurrences(&text[token.range], name).map(move |at| start + at)
    };
    let mut uses = each_token(text).flat_map(within);
    let (defined, used) = (uses.next()?, uses.next()?);
    if uses.next().is_some() || !(bounds.start..bounds.end).contains(&used) {
        return None;
    }
    let line = text[..defined].rfind('\n').map_or(0, |end| end + 1);
    let before: Vec<&str> = text[line..defined].split_whitespace().collect();
    let behind = text[defined + name.len()..].lines().next()?;
    let is_type = |word: &&str| matches!(*word, "static" | "const" | "constexpr" | "int" | "unsigned" | "inline");
    let number = match before.as_slice() {
        ["#define"] | ["#", "define"] => behind.trim(),
        words if words.iter().all(is_type) && words.iter().any(|word| word.starts_with("const")) => {
            behind.trim_start().strip_prefix('=')?.trim_end().strip_suffix(';')?.trim()
        }
        _ => return None,
    };
    let start = defined + name.len() + behind.find(number)?;
    (number.parse() == Ok(value)).then(|| Span::new(&bounds.file, start..start + number.len()))
}

/// Changes the number in `__maxnreg__(64)` from what it is.
pub fn allow_registers(cx: &LintContext<'_>, limit: u32, registers: u32) -> Option<Suggestion> {
    let span = cx.frame.launch_bounds.max_registers_span.as_ref().filter(|_| may_edit(cx))?;
    let number = span.text().split_once('(')?.1.strip_suffix(')')?.trim();
    let at = span.start + span.text().rfind(number).filter(|_| number.parse() == Ok(limit))?;
    let number = Span::new(&span.file, at..at + number.len());
    let edit = in_place(cx, Edit { span: number, replacement: registers.to_string(), context: span.clone() });
    let title = format!("allow {registers} registers");
    Some(match runs_with(cx, registers) {
        true => offer(title, edit),
        false => adapt(title, edit),
    })
}

/// Whether the unit has no other kernel of the same template.
fn is_only_instance(cx: &LintContext<'_>) -> bool {
    let name = base_name(&cx.frame.name);
    let functions = cx.unit.facts.ptx.functions.iter().filter(|function| function.is_entry);
    functions.filter(|function| base_name(&demangle(&function.name)) == name).count() == 1
}

/// Whether the kernel's bounds are its own: those of a macro hold for all code that uses it, in other files too.
fn may_edit(cx: &LintContext<'_>) -> bool {
    match cx.frame.launch_bounds.place {
        BoundsPlace::Head => true,
        BoundsPlace::OwnMacro => cx.unit.compiled.files.files.len() == 1,
        BoundsPlace::SharedMacro | BoundsPlace::Elsewhere => false,
    }
}

/// Nothing of a macro's definition is compiled where it stands.
fn in_place(cx: &LintContext<'_>, edit: Edit) -> Edit {
    match cx.frame.launch_bounds.place {
        BoundsPlace::Head => edit,
        BoundsPlace::OwnMacro | BoundsPlace::SharedMacro | BoundsPlace::Elsewhere => {
            Edit { context: edit.span.clone(), ..edit }
        }
    }
}

/// The launch bounds of a kernel that may be edited, and their arguments.
fn bounds<'a>(cx: &LintContext<'a>) -> Option<(&'a Span, Vec<&'a str>)> {
    let span = cx.frame.launch_bounds.span.as_ref().filter(|_| may_edit(cx))?;
    let arguments = span.text().split_once('(')?.1.strip_suffix(')')?;
    Some((span, split_at_commas(arguments)))
}
