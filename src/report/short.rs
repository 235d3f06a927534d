//! One line each: `file:line:column: level: message [lint]`.

use std::io;

use lmem_base::diagnostic::{Diagnostic, Report};

use super::excerpt::one_line;
use super::facts::severity_word;
use super::position::place;

pub(super) fn render(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    report.diagnostics.iter().try_for_each(|diagnostic| writeln!(out, "{}", line(diagnostic)))
}

/// `file:line:column: level: message [lint]`
pub fn line(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.primary.as_ref().map(|label| format!("{}: ", place(&label.span))).unwrap_or_default();
    let name = diagnostic.code.name();
    let name = if name.is_empty() { String::new() } else { format!(" [{name}]") };
    one_line(&format!("{place}{}: {}{name}", severity_word(diagnostic.severity), diagnostic.message))
}

#[cfg(test)]
mod tests {
    use crate::cli::MessageFormat;
    use crate::report::samples;
    use snapbox::{IntoData, assert_data_eq, str};

    #[test]
    fn one_line_each() {
        assert_data_eq!(samples::rendered(&samples::report(), MessageFormat::Short), str![[r#"
extra/broken.cu:1:23: error: identifier "undefined" is undefined [nvcc]
include/scan.cuh:2:19: error: `count` (`int[4]`, 16 B) is in local memory: dynamically indexed [dynamic_index]
kernels/running_mean.cu:3:11: warning: `window` (`float[32]`, 128 B) is in local memory: dynamically indexed [dynamic_index]
src/kernels.rs:2:49: warning: kernel `gemm_tile` spills: launch bounds allow 32 registers, 71 needed [register_spill]
note: `third_party/cutlass` is a git submodule and was skipped [submodule]

"#]].raw());
    }
}
