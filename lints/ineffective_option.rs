//! An option has no effect on the executed code, or another effect than its name says.
//!
//! ## Why it costs
//! The author believes that registers are limited, that fast instructions are used, or that a loop stays rolled:
//!
//! - cudarc's `maxrregcount`, and `--maxrregcount` or `--ptxas-options` in its `options`: cudarc takes PTX from NVRTC.
//!   PTX does not contain these options, and the driver compiles it without them.
//! - cudarc's `use_fast_math: Some(true)`: it is passed on as `--fmad=true`, which is NVRTC's default. Divisions and
//!   square roots stay as exact and as slow as before.
//! - `#pragma nounroll`: the front ends of nvcc and NVRTC do not know it and ignore it with a warning. The loop is
//!   unrolled as if the pragma were absent.
//! - `-maxrregcount` and `-Xptxas` in a build that makes PTX: the driver compiles the PTX without these options.
//! - `-maxrregcount` if every kernel of the file has its own launch bounds or `__maxnreg__`: these take precedence.
//!
//! ## What to do
//! - Registers: `__launch_bounds__(threads, blocks)` at the kernel, or `__maxnreg__(n)`. PTX contains both.
//! - Fast math: `options: vec!["--use_fast_math".into()]`.
//! - Loops: `#pragma unroll 1`.
//!
//! ## Example
//! Before:
//! ```cpp
//! #pragma nounroll
//! ```
//! After:
//! ```cpp
//! #pragma unroll 1
//! ```
//!
//! ## Fix safety
//! Removing an option without effect changes nothing. An option with the intended effect changes the code: measure it.
//! `--use_fast_math` gives less exact results.
//!
//! ## When it is wrong
//! If a build step that this tool does not see compiles the PTX again, flags may have an effect there.
//!
//! ## Related lints
//! `register_spill`, `missing_launch_bounds`, `debug_build`

use lmem_base::level::Level;
use lmem_base::source::Span;
use lmem_unit::{CompilerMessage, IneffectiveKind, IneffectiveOption, UnitCode};
use nv_code::PtxFunction;

use crate::framework::{Check, Finding, Lint, UnitContext};

pub(crate) static LINT: Lint = Lint {
    name: "ineffective_option",
    level: Level::Warn,
    source: include_str!("ineffective_option.rs"),
    check: Check::Options(check),
};

fn check(cx: &UnitContext<'_>) -> Vec<Finding> {
    let options: &[IneffectiveOption] = match &cx.unit.code {
        UnitCode::CudaText { options, .. } => &options.ineffective,
        UnitCode::CudaFile { .. } | UnitCode::Ptx { .. } | UnitCode::Machine(_) => &[],
    };
    let pragmas = cx.messages.iter().filter(|(message, _)| is_ignored_pragma(message));
    let pragmas = pragmas.filter_map(|(_, span)| span.as_ref()).map(ignored_pragma);
    options.iter().map(cudarc).chain(pragmas).chain(flag(cx)).chain(lost(cx)).collect()
}

/// Whether a warning reports an ignored `#pragma nounroll`: nvcc's 20199, NVRTC's 161.
pub(crate) fn is_ignored_pragma(message: &CompilerMessage) -> bool {
    let printed = message.column.as_ref().map_or("", |(_, line)| line.as_str());
    message.text.starts_with("unrecognized #pragma") && printed.contains("nounroll")
}

fn ignored_pragma(span: &Span) -> Finding {
    Finding::new("`#pragma nounroll` has no effect: the compiler may unroll the loop")
        .primary(Some(span), "unknown to CUDA's front end")
        .help("write `#pragma unroll 1`")
}

fn cudarc(option: &IneffectiveOption) -> Finding {
    let span = Some(&option.span);
    match option.kind {
        IneffectiveKind::MaxRegisters => Finding::new("the register limit does not reach the code that runs")
            .primary(span, "without effect")
            .note("cudarc takes PTX from NVRTC; the driver compiles it without the limit")
            .help("limit the kernel: `__launch_bounds__(threads, blocks)` or `__maxnreg__(n)` are kept in PTX"),
        IneffectiveKind::PtxasOptions => Finding::new("`ptxas` options do not reach the code that runs")
            .primary(span, "without effect")
            .note("cudarc takes PTX from NVRTC; `ptxas` does not run, and the driver is not told")
            .help("drop it; limits for the driver belong in the kernel, such as `__launch_bounds__`"),
        IneffectiveKind::FastMath => Finding::new("`use_fast_math` does not turn on fast math")
            .primary(span, "passed as `--fmad=true`, the default")
            .help("pass the option itself: `options: vec![\"--use_fast_math\".into()]`"),
    }
}

/// Flags of a build that makes PTX, which does not contain them.
fn lost(cx: &UnitContext<'_>) -> Option<Finding> {
    let UnitCode::CudaFile { file, flags } = &cx.unit.code else { return None };
    let lost = flags.ineffective.join("` and `");
    if lost.is_empty() {
        return None;
    }
    let finding = Finding::new(format!("`{lost}` does not reach the code that runs"))
        .primary(Some(&Span::whole_file(file)), "")
        .note("PTX does not keep such flags; the driver compiles it without them");
    Some(finding.help("limit the kernel: `__launch_bounds__(threads, blocks)` or `__maxnreg__(n)` are kept in PTX"))
}

/// A `-maxrregcount` that affects no kernel. In 225 builds with ptxas 13.5 (3 kernels, 3 architectures, 5 kinds of
/// bounds, 5 limits), the machine code was the same with and without the flag.
fn flag(cx: &UnitContext<'_>) -> Option<Finding> {
    let UnitCode::CudaFile { file, flags } = &cx.unit.code else { return None };
    let (_, flag) = cx.register_flag.as_ref()?;
    let kernels = &cx.facts.kernels;
    let is_bounded = |function: &PtxFunction| {
        function.max_threads.is_some() || function.required_threads.is_some() || function.max_registers.is_some()
    };
    // With `-rdc` the flag also applies to device functions, and to those of other files.
    let is_whole = !flags.arguments.iter().any(|argument| argument.contains("rdc") || argument.contains("relocatable"));
    let all_bounded = kernels.iter().all(|kernel| kernel.is_entry && cx.function(&kernel.name).is_some_and(is_bounded));
    if kernels.is_empty() || !is_whole || !all_bounded {
        return None;
    }
    let finding = Finding::new(format!("`{flag}` limits no kernel of `{}`: each has its own bound", cx.unit.name))
        .primary(Some(&Span::whole_file(file)), "")
        .note("`ptxas` ignores the flag here; the front end may still optimise for it");
    Some(finding.help("drop the flag; more blocks in `__launch_bounds__` limit a kernel further"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_unit::parse_messages;

    #[test]
    fn the_messages_of_both_front_ends_are_known() {
        let text = "a.cu(3): warning #20199-D: unrecognized #pragma in device code\n  #pragma nounroll\n          ^\n\n\
                    k.cu(5): warning #161-D: unrecognized #pragma\n    _Pragma(\"nounroll\") for (;;) s += a[i];\n            ^\n\n\
                    k.cu(9): warning #161-D: unrecognized #pragma\n  #pragma omp parallel\n          ^\n";
        let known: Vec<bool> = parse_messages(text, "nvcc").iter().map(is_ignored_pragma).collect();
        assert_eq!(known, [true, true, false]);
    }
}
