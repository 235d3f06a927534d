//! Launch bounds and limits that leave more registers per thread.

use cuda_syntax::Launch;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::gpu::MAX_BLOCK_THREADS;
use lmem_base::source::Span;
use lmem_frame::KernelFrame;
use lmem_unit::UnitCode;

use super::Rewrite;
use super::facts::text::split_at_commas;
use super::shared::place_of;
use crate::framework::LintContext;

/// `__launch_bounds__(256, 1)` for `(256)`.
pub fn name_blocks(frame: &KernelFrame) -> Option<Suggestion> {
    let (span, arguments) = bounds(frame)?;
    let [threads] = arguments.as_slice() else { return None };
    let title = format!("state the minimum blocks per SM with `__launch_bounds__({}, 1)`", threads.trim());
    let place = Span::new(&span.file, span.end - 1..span.end - 1);
    let edit = Edit { span: place, replacement: ", 1".to_string(), context: span.clone() };
    Some(offer(title, edit))
}

/// Replaces the block size by that of the largest launch; `names_blocks` adds a number of blocks. Larger launches fail
/// then, so that it is a proposal to adapt unless there can be no others.
pub fn as_launched(cx: &LintContext<'_>, launch: &Launch, names_blocks: bool) -> Option<Suggestion> {
    let frame = cx.frame;
    let (span, arguments) = bounds(frame)?;
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

/// The launch bounds of a kernel, and their arguments.
fn bounds(frame: &KernelFrame) -> Option<(&Span, Vec<&str>)> {
    let span = frame.launch_bounds.span.as_ref()?;
    let arguments = span.text().split_once('(')?.1.strip_suffix(')')?;
    Some((span, split_at_commas(arguments)))
}
