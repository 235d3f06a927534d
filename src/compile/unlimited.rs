//! Register demand of kernels that spill: a further `ptxas` run over the same PTX, without their limits.

use std::path::Path;
use std::process::Command;

use super::ptxas::REPORTING_FLAGS;

/// Directives in a kernel's header that limit its registers, and the operands that follow.
const LIMITS: [&str; 5] = [".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg"];

/// The option of nvcc and ptxas that limits the registers of all kernels.
const LIMITING_OPTION: &str = "maxrregcount";

/// The PTX with the limits of some kernels removed; `None` if they have none. Line numbers do not change.
pub fn without_limits(ptx: &str, kernels: &[&str]) -> Option<String> {
    let mut text = String::with_capacity(ptx.len());
    let mut in_header = false;
    let mut has_changed = false;
    for line in ptx.split_inclusive('\n') {
        if let Some((_, rest)) = line.split_once(".entry") {
            let name = rest.trim_start().split(|c: char| c == '(' || c.is_whitespace()).next().unwrap_or("");
            in_header = kernels.contains(&name);
        }
        if in_header {
            let kept = without_directives(line);
            has_changed |= kept != line;
            text.push_str(&kept);
            in_header = !line.contains('{');
        } else {
            text.push_str(line);
        }
    }
    has_changed.then_some(text)
}

/// A header line without its limits: each is a directive, numbers and commas.
fn without_directives(line: &str) -> String {
    let mut text = line.to_string();
    for directive in LIMITS {
        let Some(start) = text.find(directive) else { continue };
        let rest = &text[start + directive.len()..];
        let is_argument = |c: char| c.is_ascii_digit() || c == ',' || c == ' ' || c == '\t';
        let length = rest.find(|c| !is_argument(c)).unwrap_or(rest.len());
        text.replace_range(start..start + directive.len() + length, "");
    }
    text
}

/// The command line that compiles some kernels of a PTX file only for their figures.
pub fn command(ptxas: &Path, architecture: &str, options: &[String], kernels: &[&str], ptx: &Path) -> Command {
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={architecture}")).args(REPORTING_FLAGS).args(options);
    // ptxas requires an output file, although only the figures are used.
    command.arg("--entry").arg(kernels.join(",")).arg(ptx).arg("-o").arg(ptx.with_extension("cubin"));
    command
}

/// The options that nvcc would pass to ptxas from a user's flags, without limits: `-O1` of `-Xptxas=-O1,-v`.
pub fn ptxas_options(flags: &[String]) -> Vec<String> {
    let values = flags
        .iter()
        .filter_map(|flag| ["-Xptxas=", "--ptxas-options="].iter().find_map(|name| flag.strip_prefix(name)));
    let options = values.flat_map(|value| value.split(',')).filter(|option| !option.is_empty());
    options.filter(|option| !option.contains(LIMITING_OPTION)).map(String::from).collect()
}

/// The limit that nvcc would pass to ptxas.
pub fn limiting_flag(flags: &[String]) -> Option<String> {
    let parts: Vec<&str> = flags.iter().flat_map(|flag| flag.split(['=', ','])).collect();
    let at = parts.iter().rposition(|part| part.trim_start_matches('-') == LIMITING_OPTION)?;
    parts.get(at + 1).map(|value| format!("--{LIMITING_OPTION}={value}"))
}

/// Whether flags limit the registers of all kernels of a unit.
pub fn has_limit(flags: &[String]) -> bool {
    flags.iter().any(|flag| flag.contains(LIMITING_OPTION))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry one(\n\t.param .u64 p\n)\n.maxntid 256, 1, 1\n.minnctapersm 5\n{\n\tret;\n}\n\
        .visible .entry two( .param .u64 p ) .maxntid 64, 1, 1 .maxnreg 32 { ret; }\n.entry three()\n{\n}\n";

    #[test]
    fn limits_of_the_named_kernels_go() {
        let text = without_limits(PTX, &["one"]).unwrap();
        assert_eq!(text.lines().count(), PTX.lines().count());
        assert!(!text.contains("256") && text.contains(".maxnreg 32"), "{text}");
        let text = without_limits(PTX, &["two"]).unwrap();
        assert!(text.contains(".minnctapersm 5") && text.contains(".param .u64 p ) { ret; }"), "{text}");
        assert_eq!(without_limits(PTX, &["three"]), None);
    }

    #[test]
    fn options_for_ptxas_are_kept_and_limits_are_not() {
        let flags = ["-O3", "-Xptxas=-O1,--maxrregcount=32", "-Xptxas=-v", "-maxrregcount=64"].map(String::from);
        assert_eq!(ptxas_options(&flags), ["-O1", "-v"]);
        assert!(has_limit(&flags));
        assert_eq!(limiting_flag(&flags).as_deref(), Some("--maxrregcount=64"));
        assert_eq!(limiting_flag(&flags[..2]).as_deref(), Some("--maxrregcount=32"));
        assert_eq!(limiting_flag(&["-maxrregcount".into(), "48".into()]).as_deref(), Some("--maxrregcount=48"));
        assert_eq!(limiting_flag(&["-rdc=true".to_string()]), None);
        assert!(!has_limit(&["-rdc=true".to_string()]));
    }
}
