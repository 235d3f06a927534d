//! The unit is compiled for debugging, with `-G`.
//!
//! ## Why it costs
//! With `-G` every variable is in local memory, so that a debugger can find it. Kernels become several times slower
//! (5.8 times in one measured pair), and the code tells nothing about a release build.
//!
//! ## What to do
//! Leave `-G` (`--device-debug`) out of builds that are measured or shipped; `-lineinfo` keeps source lines for
//! profilers at no cost. The `cc` crate passes `-G` in debug profiles.
//!
//! ## Example
//! Before:
//! ```toml
//! nvcc-flags = ["-O0", "-G"]
//! ```
//! After:
//! ```toml
//! nvcc-flags = ["-g", "-lineinfo"]
//! ```
//!
//! ## Fix safety
//! Advice only: a debug build is deliberate during debugging.
//!
//! ## When it is wrong
//! During debugging `-G` is required. Check the release flags with `--capture`, which builds in release mode.
//!
//! ## Related lints
//! `ineffective_option`

use lmem_base::level::Level;
use lmem_base::source::Span;
use lmem_unit::{TranslationUnit, UnitCode};

use crate::framework::{Check, Finding, Lint};

pub(crate) static LINT: Lint =
    Lint { name: "debug_build", level: Level::Warn, source: include_str!("debug_build.rs"), check: Check::Unit(check) };

fn check(unit: &TranslationUnit, is_debug: bool) -> Option<Finding> {
    if !is_debug {
        return None;
    }
    let span = match &unit.code {
        UnitCode::CudaFile { file, .. } => Some(Span::whole_file(file)),
        UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => {
            text.span(0..1).or_else(|| unit.use_site.clone())
        }
        UnitCode::Machine(code) => Some(code.span.clone()),
    };
    let finding = Finding::new(format!("`{}` is a debug build (`-G`): every variable is in local memory", unit.name))
        .primary(span.as_ref(), "")
        .note("nothing else is checked in its kernels");
    Some(finding.help("drop `-G`; `-lineinfo` keeps source lines for profilers"))
}
