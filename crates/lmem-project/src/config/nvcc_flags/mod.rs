//! The `nvcc` flags that a manifest may set.
//!
//! A manifest is part of the pull request that is checked, so it is not trusted. `nvcc` is a driver that starts
//! programs through a shell: `-DX=$(touch x)` runs `touch` (seen with CUDA 13.5; a `.cu` file with such a name does so
//! too). So this is an allow list: flags that change the generated code, but neither name a program nor write a file.
//! Users can set all others in `NVCC_APPEND_FLAGS`, which is their own.

mod host;
mod ptxas;

use std::path::{Component, Path};

use self::host::is_host_option;
pub use self::ptxas::is_ptxas_option;

/// Why a flag in a manifest is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    #[error(
        "`{flag}` {reason}: a setting in the workspace may not do that; `NVCC_APPEND_FLAGS` in your environment may"
    )]
    Unsafe { flag: String, reason: &'static str },
    #[error("`{flag}` holds a character that a shell would act on, and nvcc starts its tools through one")]
    Shell { flag: String },
    #[error("`{flag}` chooses the architecture: use `arch = \"sm_90\"` in the settings, or `--arch sm_90`")]
    Architecture { flag: String },
    #[error("`{flag}` chooses what nvcc writes, and checking needs a cubin: leave it out")]
    Output { flag: String },
    #[error("`{flag}` starts more threads than {MAX_THREADS}, or no number of them")]
    Threads { flag: String },
    #[error("`{flag}` needs a value")]
    NoValue { flag: String },
    #[error("`{flag}` is no flag: name one flag, and its value, per item of the list")]
    NoFlag { flag: String },
    #[error("`{flag}` is not among the flags that may be set here{}", hint(.near))]
    Unknown { flag: String, near: Option<&'static str> },
}

fn hint(near: &Option<&'static str>) -> String {
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

/// The kind of value that a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    /// `--std=c++17` or `--std c++17`: a word or number.
    Word,
    /// As `Word`, or no value: `-lineinfo`, `-g`.
    Macro,
    /// A path or a list of paths, relative to the manifest.
    Path,
    /// Options of ptxas, separated by commas.
    Ptxas,
    /// Options of the host compiler, separated by commas.
    Host,
}

/// The allowed flags. The value of a one-letter flag may follow without a separator.
const ALLOWED: &[(&str, Value)] = &[
    ("-D", Value::Macro),
    ("--define-macro", Value::Macro),
    ("-U", Value::Macro),
    ("--undefine-macro", Value::Macro),
    ("-I", Value::Path),
    ("--include-path", Value::Path),
    ("-isystem", Value::Path),
    ("--system-include", Value::Path),
    ("-include", Value::Path),
    ("--pre-include", Value::Path),
    ("-std", Value::Word),
    ("--std", Value::Word),
    ("-O", Value::Word),
    ("--optimize", Value::Word),
    ("-dopt", Value::Word),
    ("--dopt", Value::Word),
    ("-Ofc", Value::Word),
    ("--Ofast-compile", Value::Word),
    ("-use_fast_math", Value::None),
    ("--use_fast_math", Value::None),
    ("-ftz", Value::Word),
    ("--ftz", Value::Word),
    ("-prec-div", Value::Word),
    ("--prec-div", Value::Word),
    ("-prec-sqrt", Value::Word),
    ("--prec-sqrt", Value::Word),
    ("-fmad", Value::Word),
    ("--fmad", Value::Word),
    ("-maxrregcount", Value::Word),
    ("--maxrregcount", Value::Word),
    ("-rdc", Value::Word),
    ("--relocatable-device-code", Value::Word),
    ("-ewp", Value::None),
    ("--extensible-whole-program", Value::None),
    ("-dlto", Value::None),
    ("--dlink-time-opt", Value::None),
    ("-G", Value::None),
    ("--device-debug", Value::None),
    ("-g", Value::None),
    ("--debug", Value::None),
    ("-lineinfo", Value::None),
    ("--generate-line-info", Value::None),
    ("-expt-relaxed-constexpr", Value::None),
    ("--expt-relaxed-constexpr", Value::None),
    ("-expt-extended-lambda", Value::None),
    ("--expt-extended-lambda", Value::None),
    ("-extended-lambda", Value::None),
    ("--extended-lambda", Value::None),
    ("-default-stream", Value::Word),
    ("--default-stream", Value::Word),
    ("-extra-device-vectorization", Value::None),
    ("--extra-device-vectorization", Value::None),
    ("-restrict", Value::None),
    ("--restrict", Value::None),
    ("-m", Value::Word),
    ("--machine", Value::Word),
    ("-w", Value::None),
    ("--disable-warnings", Value::None),
    ("-Werror", Value::Word),
    ("--Werror", Value::Word),
    ("-Wno-deprecated-gpu-targets", Value::None),
    ("--Wno-deprecated-gpu-targets", Value::None),
    ("-Wno-deprecated-declarations", Value::None),
    ("--Wno-deprecated-declarations", Value::None),
    ("-Wreorder", Value::None),
    ("-Wext-lambda-captures-this", Value::None),
    ("-Wdefault-stream-launch", Value::None),
    ("-diag-suppress", Value::Word),
    ("--diag-suppress", Value::Word),
    ("-diag-warn", Value::Word),
    ("--diag-warn", Value::Word),
    ("-diag-error", Value::Word),
    ("--diag-error", Value::Word),
    ("-err-no", Value::None),
    ("--display-error-number", Value::None),
    ("-no-align-double", Value::None),
    ("-builtin-move-forward", Value::Word),
    ("-builtin-initializer-list", Value::Word),
    ("-allow-unsupported-compiler", Value::None),
    ("--allow-unsupported-compiler", Value::None),
    ("-static-global-template-stub", Value::Word),
    ("--static-global-template-stub", Value::Word),
    ("-device-stack-protector", Value::Word),
    ("--device-stack-protector", Value::Word),
    ("-fdevice-sanitize", Value::Word),
    ("--fdevice-sanitize", Value::Word),
    ("-ftemplate-depth", Value::Word),
    ("--ftemplate-depth", Value::Word),
    ("-ftemplate-backtrace-limit", Value::Word),
    ("--ftemplate-backtrace-limit", Value::Word),
    ("-stdlib", Value::Word),
    ("--stdlib", Value::Word),
    ("-split-compile", Value::Word),
    ("--split-compile", Value::Word),
    ("-jump-table-density", Value::Word),
    ("--jump-table-density", Value::Word),
    ("-disable-optimizer-constants", Value::None),
    ("-forward-unknown-to-host-compiler", Value::None),
    ("--forward-unknown-to-host-compiler", Value::None),
    ("-forward-unknown-opts", Value::None),
    ("--forward-unknown-opts", Value::None),
    ("-Xptxas", Value::Ptxas),
    ("--ptxas-options", Value::Ptxas),
    ("-Xcompiler", Value::Host),
    ("--compiler-options", Value::Host),
];

/// Flags that are rejected for a reason worth explaining, by name without dashes.
const EXPLAINED: &[(&str, &str)] = &[
    ("ccbin", PROGRAM),
    ("compiler-bindir", PROGRAM),
    ("allow-unsupported-compiler-bindir", PROGRAM),
    ("run", PROGRAM),
    ("run-args", PROGRAM),
    ("idp", PROGRAM),
    ("input-drive-prefix", PROGRAM),
    ("ddp", PROGRAM),
    ("dependency-drive-prefix", PROGRAM),
    ("dp", PROGRAM),
    ("drive-prefix", PROGRAM),
    ("use-local-env", PROGRAM),
    ("env", PROGRAM),
    ("ldir", PROGRAM),
    ("libdevice-directory", PROGRAM),
    ("tdir", PROGRAM),
    ("target-dir", PROGRAM),
    ("target-directory", PROGRAM),
    ("noprof", PROGRAM),
    ("dont-use-profile", PROGRAM),
    ("Xcudafe", PROGRAM),
    ("Xnvvm", PROGRAM),
    ("Xcicc", PROGRAM),
    ("Xarchive", PROGRAM),
    ("Xnvlink", PROGRAM),
    ("Xlinker", PROGRAM),
    ("optf", RESPONSE),
    ("options-file", RESPONSE),
    ("o", WRITES),
    ("output-file", WRITES),
    ("odir", WRITES),
    ("output-directory", WRITES),
    ("objdir", WRITES),
    ("keep", WRITES),
    ("save-temps", WRITES),
    ("keep-dir", WRITES),
    ("MF", WRITES),
    ("dependency-output", WRITES),
    ("MD", WRITES),
    ("MMD", WRITES),
    ("tp", WRITES),
    ("time", WRITES),
    ("fdevice-time-trace", WRITES),
    ("clean", WRITES),
    ("clean-targets", WRITES),
    ("tempdir", WRITES),
];

const PROGRAM: &str = "names a program, or options and folders of one";
const RESPONSE: &str = "reads flags from a file";
const WRITES: &str = "writes or removes files";

/// Flags that select the outputs. The analysis selects them itself.
const OUTPUT: &[&str] = &[
    "ptx",
    "c",
    "compile",
    "cubin",
    "dc",
    "device-c",
    "dw",
    "device-w",
    "fatbin",
    "lib",
    "link",
    "dlink",
    "device-link",
    "cuda",
    "preprocess",
    "E",
    "M",
    "generate-dependencies",
    "MM",
    "optix-ir",
    "ltoir",
    "lto",
    "dryrun",
    "n",
    "shared",
    "cudart",
    "l",
    "library",
    "L",
    "library-path",
    "t",
    "threads",
    "x",
    "device-entity-has-hidden-visibility",
];

const ARCHITECTURE: &[&str] =
    &["arch", "gpu-architecture", "code", "gpu-code", "gencode", "generate-code", "arch-list", "list-gpu-arch"];

/// Checks a list of flags, and returns it with relative paths made absolute from `folder`.
///
/// # Errors
/// A flag is not allowed in a manifest, or is not a flag.
pub fn check(flags: &[String], folder: &Path) -> Result<Vec<String>, FlagError> {
    let mut checked = Vec::new();
    let mut rest = flags.iter();
    while let Some(flag) = rest.next() {
        let (name, value_kind, joined) = split(flag)?;
        if value_kind == Value::None {
            if joined.is_some() {
                return Err(unknown(flag));
            }
            checked.push(name.to_string());
            continue;
        }
        let value = match joined {
            Some(value) => value,
            None => rest.next().map(String::as_str).ok_or_else(|| FlagError::NoValue { flag: flag.clone() })?,
        };
        checked.extend(with_value(name, value_kind, value, folder)?);
    }
    Ok(checked)
}

/// Splits the flags of a build into those that a manifest may set and the others. A word without a dash is the value of
/// the flag before it.
pub fn allowed(flags: &[String], folder: &Path) -> (Vec<String>, Vec<String>) {
    let (mut allowed, mut refused) = (Vec::new(), Vec::new());
    let mut rest = flags;
    while !rest.is_empty() {
        let has_value = rest.get(1).is_some_and(|next| !next.starts_with('-'));
        let (flag, behind) = rest.split_at(if has_value { 2 } else { 1 });
        match check(flag, folder) {
            Ok(checked) => allowed.extend(checked),
            Err(_) => refused.push(flag.join(" ")),
        }
        rest = behind;
    }
    (allowed, refused)
}

/// Whether a flag that is refused may change which text is compiled: macros, headers, the language, or flags that stand elsewhere. Without it,
/// other code is checked than is built.
pub fn may_change_text(flag: &str) -> bool {
    const NAMES: [&str; 5] = ["define-macro", "undefine-macro", "pre-include", "system-include", "working-directory"];
    // The front end and the optimizer of device code take anything.
    const BEGINNINGS: [&str; 15] = [
        "I",
        "D",
        "U",
        "i",
        "x",
        "Wp",
        "Xpreprocessor",
        "nostdinc",
        "undef",
        "sysroot",
        "options-file",
        "optf",
        "Xcicc",
        "Xnvvm",
        "specs",
    ];
    let parts = flag.split([' ', ',', '=', '"', '\'']);
    let of_option = |bare: &str| NAMES.contains(&bare) || BEGINNINGS.iter().any(|name| bare.starts_with(name));
    let bare = |part: &str| part.strip_prefix("--").or_else(|| part.strip_prefix('-')).is_some_and(of_option);
    let is_for_host = flag.trim_start_matches('-').starts_with("Xcompiler") || flag.contains("compiler-options");
    parts.into_iter().any(|part| part.starts_with('@') || bare(part) || is_for_host && host::may_define(part))
}

/// Whether a flag that is refused may change the code of kernels: options of `ptxas` and of the front end.
pub fn may_change_code(flag: &str) -> bool {
    // Messages, and what is beside the code.
    const HARMLESS: [&str; 11] = [
        "diag_",
        "display_error_number",
        "no_warnings",
        "suppress-",
        "warn",
        "Werror",
        "generate-line-info",
        "lineinfo",
        "opt-info",
        "fdevice-time-trace",
        "preserve-relocs",
    ];
    let (name, options) = flag.split_once(['=', ' ']).unwrap_or((flag, ""));
    if !["Xptxas", "ptxas-options", "Xcudafe"].contains(&name.trim_start_matches('-')) {
        return false;
    }
    let is_harmless = |option: &str| {
        let bare = option.trim_start_matches('-');
        is_ptxas_option(option) || bare.is_empty() || HARMLESS.iter().any(|harmless| bare.starts_with(harmless))
    };
    let options = options.split([' ', ',', '"', '\'']);
    options.filter(|option| option.starts_with('-')).any(|option| !is_harmless(option))
}

/// Whether nvcc has the option: one that it has not it may hand to the host compiler.
pub fn is_of_nvcc(option: &str) -> bool {
    let bare = option.trim_start_matches('-').split('=').next().unwrap_or(option);
    let is_allowed = || ALLOWED.iter().any(|(name, _)| name.trim_start_matches('-') == bare);
    let is_explained = || EXPLAINED.iter().any(|(name, _)| *name == bare);
    OUTPUT.contains(&bare) || ARCHITECTURE.contains(&bare) || is_allowed() || is_explained()
}

/// `-DNAME` for each item of the key `defines`.
///
/// # Errors
/// A define contains a character that a shell interprets, or does not begin with an identifier.
pub fn check_defines(defines: &[String]) -> Result<Vec<String>, FlagError> {
    defines.iter().map(|define| macro_flag("-D", define)).collect()
}

/// Whether a path can be passed to nvcc, which puts paths into double quotes for a shell.
pub fn is_safe_path(path: &Path) -> bool {
    path.to_str().is_some_and(|text| !text.contains(SHELL_ACTIVE))
}

/// Characters that a shell interprets inside double quotes, and line ends.
const SHELL_ACTIVE: [char; 7] = ['$', '`', '"', '\\', '\n', '\r', '\0'];

/// The flag's name, the kind of its value, and the value in the same item.
fn split(flag: &str) -> Result<(&'static str, Value, Option<&str>), FlagError> {
    if flag.starts_with('@') {
        return Err(FlagError::Unsafe { flag: flag.to_string(), reason: RESPONSE });
    }
    if !flag.starts_with('-') || flag.trim_start_matches('-').is_empty() {
        return Err(FlagError::NoFlag { flag: flag.to_string() });
    }
    let (written, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (flag, None),
    };
    if let Some((name, kind)) = ALLOWED.iter().find(|(name, _)| *name == written) {
        return Ok((name, *kind, value));
    }
    let bare = written.trim_start_matches('-');
    if let Some((_, reason)) = EXPLAINED.iter().find(|(name, _)| *name == bare) {
        return Err(FlagError::Unsafe { flag: flag.to_string(), reason });
    }
    if ARCHITECTURE.contains(&bare) {
        return Err(FlagError::Architecture { flag: flag.to_string() });
    }
    if OUTPUT.contains(&bare) {
        return Err(FlagError::Output { flag: flag.to_string() });
    }
    for (name, kind) in ALLOWED.iter().filter(|(name, _)| matches!(*name, "-D" | "-U" | "-I" | "-O" | "-m")) {
        if let Some(value) = flag.strip_prefix(name) {
            return Ok((name, *kind, Some(value)));
        }
    }
    Err(unknown(flag))
}

fn unknown(flag: &str) -> FlagError {
    let near = lmem_base::words::nearest(flag.split('=').next().unwrap_or(flag), ALLOWED.iter().map(|(name, _)| *name));
    FlagError::Unknown { flag: flag.to_string(), near }
}

fn with_value(name: &str, kind: Value, value: &str, folder: &Path) -> Result<Vec<String>, FlagError> {
    let flag = || format!("{name} {value}");
    match kind {
        Value::None => Ok(vec![name.to_string()]),
        Value::Macro => {
            Ok(vec![macro_flag(if name.starts_with("-U") || name.starts_with("--un") { "-U" } else { "-D" }, value)?])
        }
        Value::Path => {
            let path = path_value(value, folder).ok_or_else(|| FlagError::Shell { flag: flag() })?;
            let is_sought = is_forced_include(name) && is_found_elsewhere(value, folder);
            Ok(vec![name.to_string(), if is_sought { value.to_string() } else { path }])
        }
        Value::Word if name.ends_with("split-compile") && !is_small_number(value) => {
            Err(FlagError::Threads { flag: flag() })
        }
        Value::Word if is_word(value) => Ok(vec![joined(name, value)]),
        Value::Word => Err(FlagError::Shell { flag: flag() }),
        Value::Ptxas | Value::Host => {
            if !is_word(value) {
                return Err(FlagError::Shell { flag: flag() });
            }
            let allowed: fn(&str) -> bool = if kind == Value::Ptxas { is_ptxas_option } else { is_host_option };
            match value.split(',').find(|option| !allowed(option)) {
                Some(option) => Err(FlagError::Unsafe { flag: format!("{name} {option}"), reason: PROGRAM_OPTION }),
                None => Ok(vec![format!("{name}={value}")]),
            }
        }
    }
}

const PROGRAM_OPTION: &str = "hands a program an option that is not known to be harmless";

fn joined(name: &str, value: &str) -> String {
    if matches!(name, "-O" | "-m") { format!("{name}{value}") } else { format!("{name}={value}") }
}

fn macro_flag(name: &str, value: &str) -> Result<String, FlagError> {
    let flag = format!("{name}{value}");
    let begins_well = value.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    // nvcc escapes quotation marks, if each has another; what follows a backslash would be escaped twice.
    let is_quoted = value.matches('"').count().is_multiple_of(2);
    let is_active = |c: char| c != '"' && SHELL_ACTIVE.contains(&c);
    // nvcc splits the value at commas; the rest would define another macro.
    match begins_well && is_quoted && !value.contains(is_active) && !value.contains(',') {
        true => Ok(flag),
        false => Err(FlagError::Shell { flag }),
    }
}

fn path_value(value: &str, folder: &Path) -> Option<String> {
    let path = folder.join(value);
    // nvcc accepts a list, separated by commas, wherever it accepts a path.
    (is_safe_path(&path) && !value.contains(',') && !value.is_empty()).then(|| path.to_string_lossy().into_owned())
}

fn is_forced_include(name: &str) -> bool {
    matches!(name, "-include" | "--pre-include")
}

/// Whether a header of `-include` is none of `folder`, so that compilers look for it in their include folders: a relative
/// name such as `thrust/tuple.h`.
pub fn is_found_elsewhere(header: &str, folder: &Path) -> bool {
    // Programs would take `-x` for an option and `@x` for a file of options.
    let begins_well = header.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
    let is_below = Path::new(header).components().all(|part| matches!(part, Component::Normal(_)));
    begins_well && is_below && !folder.join(header).exists()
}

/// Limit on compiler threads, each of which needs its own memory.
const MAX_THREADS: u32 = 64;

fn is_small_number(value: &str) -> bool {
    value.parse::<u32>().is_ok_and(|number| number <= MAX_THREADS)
}

fn is_word(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|letter| letter.is_ascii_alphanumeric() || "_+-=.,:".contains(letter))
}

#[cfg(test)]
mod tests;
