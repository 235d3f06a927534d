//! Launch bounds and limits that leave more registers per thread.

use cuda_syntax::Launch;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::source::Span;
use lmem_frame::KernelFrame;
use lmem_unit::UnitCode;

use super::Rewrite;
use super::facts::text::split_at_commas;
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

/// Replaces the block size by that of the largest launch; `names_blocks` adds a number of blocks.
pub fn as_launched(frame: &KernelFrame, launch: &Launch, names_blocks: bool) -> Option<Suggestion> {
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
    let suggestion = offer(title, edit).threads(Some(launch.threads));
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
    let suggestion = offer(title, edit);
    (is_name && is_file).then_some(suggestion)
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
