//! Recognizes options that users bring from nvcc and from other tools.

use std::ffi::OsString;

use clap::Parser;
use clap::error::ErrorKind;

use lmem_base::gpu::Arch;

use super::{Cargo, Mistyped};

/// A command line that is none.
pub enum NotParsed {
    /// An option of another tool.
    Foreign(Mistyped),
    /// Other mistakes, and requests for help or the version, which clap answers.
    Other(clap::Error),
}

/// Parses the command line.
///
/// # Errors
/// It is wrong, or asks for help.
pub fn parsed(arguments: &[OsString]) -> Result<Cargo, NotParsed> {
    Cargo::try_parse_from(arguments).map_err(|error| {
        // Texts behind `--` are another program's.
        let texts = arguments.iter().filter_map(|argument| argument.to_str()).take_while(|text| *text != "--");
        let foreign = texts.skip(1).find_map(of_another_tool).filter(|_| error.kind() == ErrorKind::UnknownArgument);
        foreign.map_or(NotParsed::Other(error), NotParsed::Foreign)
    })
}

/// Names under which users look for `--message-format`.
const FORMATS: &[&str] =
    &["--format", "--error-format", "--output-format", "--json", "--sarif", "--markdown", "--junit"];

/// Options of nvcc that choose architectures.
const ARCHITECTURES: &[&str] = &["-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"];

/// Other options of nvcc that are often typed.
const OF_NVCC: &[&str] = &[
    "-G",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Xcompiler",
    "-Xptxas",
    "--compiler-options",
    "--expt-extended-lambda",
    "--expt-relaxed-constexpr",
    "--extended-lambda",
    "-fmad",
    "--fmad",
    "--ftz",
    "--generate-line-info",
    "-include",
    "-isystem",
    "-lineinfo",
    "-maxrregcount",
    "--maxrregcount",
    "--prec-div",
    "--prec-sqrt",
    "--ptxas-options",
    "-rdc",
    "--relocatable-device-code",
    "-std",
    "--std",
    "-use_fast_math",
    "--use_fast_math",
];

fn of_another_tool(text: &str) -> Option<Mistyped> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if FORMATS.contains(&name) {
        let format = value.unwrap_or(match name {
            "--format" | "--error-format" | "--output-format" => "json",
            name => name.trim_start_matches('-'),
        });
        return Some(Mistyped {
            message: format!("there is no option `{name}`"),
            hint: format!("`--message-format {format}`, or `--output {format}=FILE`"),
        });
    }
    let message = format!("`{name}` is an option of nvcc");
    if ARCHITECTURES.contains(&name) {
        let arch = value.and_then(|value| value.rsplit("sm_").next()?.parse::<Arch>().ok());
        let arch = arch.unwrap_or(Arch::new(90));
        return Some(Mistyped { message, hint: format!("`--arch {arch}`; several are separated by commas") });
    }
    OF_NVCC
        .contains(&name)
        .then(|| Mistyped { message, hint: format!("`--nvcc-flags \"{text}\"` adds flags for all `.cu` files") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::normalized;

    fn answer(text: &str) -> Option<String> {
        match parsed(&normalized(text.split(' ').map(OsString::from))) {
            Err(NotParsed::Foreign(mistyped)) => Some(format!("{}: {}", mistyped.message, mistyped.hint)),
            _ => None,
        }
    }

    #[test]
    fn options_of_other_tools_lead_to_ours() {
        let arch = "`-arch` is an option of nvcc: `--arch sm_86`; several are separated by commas";
        assert_eq!(answer("cargo-lmem -arch=sm_86 a.cu").as_deref(), Some(arch));
        let code = "`-gencode` is an option of nvcc: `--arch sm_90a`; several are separated by commas";
        assert_eq!(answer("cargo-lmem -gencode=arch=compute_90a,code=sm_90a a.cu").as_deref(), Some(code));
        let flag = "`-O3` is an option of nvcc: `--nvcc-flags \"-O3\"` adds flags for all `.cu` files";
        assert_eq!(answer("cargo-lmem a.cu -O3").as_deref(), Some(flag));
        let format = "there is no option `--format`: `--message-format sarif`, or `--output sarif=FILE`";
        assert_eq!(answer("cargo-lmem check --format=sarif").as_deref(), Some(format));
    }

    #[test]
    fn other_mistakes_are_left_to_clap() {
        assert_eq!(answer("cargo-lmem --archs sm_90"), None);
        assert_eq!(answer("cargo-lmem --nvcc-flags -O3 a.cu"), None);
        assert_eq!(answer("cargo-lmem run --nosuch -- nvcc -O3"), None);
    }
}
