//! Advice for units that do not compile: the next step, once for each cause.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cuda_toolkit::Toolkit;
use lmem_base::diagnostic::{Code, Diagnostic, Help, Severity};
use lmem_base::gpu::Arch;
use lmem_base::process;
use lmem_base::source::Span;
use lmem_unit::{CompilerMessage, TranslationUnit, UnitCode};

use super::unit::UnitReport;
use super::unit_flags::flag_origin;
use super::{CheckError, missing};

/// Limit on locations that are listed besides the first.
const MAX_PLACES: usize = 5;

/// nvcc prints its list without delay.
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// The cause of a compiler's error, if it is outside the code.
#[derive(Debug, PartialEq, Eq)]
enum Cause<'a> {
    Header(&'a str),
    /// An upper-case name, which a build probably defines.
    Define(&'a str),
    Architecture(&'a str),
    /// `#error`, with the macro that it seems to be about.
    Directive(Option<&'a str>),
    /// What CUDA 13 no longer has.
    Removed,
}

/// Functions that CUDA 12 had last. Of the members of `cudaDeviceProp` that went with them, the compiler names the structure.
const REMOVED: [&str; 4] =
    ["cudaThreadSynchronize", "cudaThreadExit", "cudaThreadSetCacheConfig", "cudaThreadSetLimit"];

/// Whether a word looks like a macro that a build defines.
fn is_define(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() > 1 && name.bytes().all(is_part) && name.starts_with(|letter: char| !letter.is_ascii_digit())
}

fn cause(text: &str) -> Option<Cause<'_>> {
    let quoted = |quote: char| text.split(quote).nth(1).filter(|text| !text.is_empty());
    if let Some(header) = text.strip_suffix(": No such file or directory") {
        return Some(Cause::Header(header));
    }
    if text.contains("cannot open source file") || text.contains("could not open source file") {
        return quoted('"').map(Cause::Header);
    }
    if text.contains("Unsupported gpu architecture") || text.contains("is not defined for option 'gpu-name'") {
        return quoted('\'').map(Cause::Architecture);
    }
    if let Some(words) = text.strip_prefix("#error") {
        let mut words = words.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        return Some(Cause::Directive(words.find(|word| is_define(word))));
    }
    if text.contains("\"cudaDeviceProp\" has no member") || quoted('"').is_some_and(|name| REMOVED.contains(&name)) {
        return Some(Cause::Removed);
    }
    let is_undefined = text.starts_with("identifier ") && text.ends_with(" is undefined");
    quoted('"').filter(|_| is_undefined).filter(|name| is_define(name)).map(Cause::Define)
}

/// What to do about a compiler's error if flags may be missing or wrong. The most likely cause comes first.
pub fn next_step(message: &CompilerMessage, unit: &TranslationUnit) -> Option<String> {
    let may_be_incomplete = flag_origin(unit).may_be_incomplete();
    let is_file = matches!(unit.code, UnitCode::CudaFile { .. });
    let (capture, table) = match &unit.package {
        Some(_) => ("`--capture` takes the flags of your build; else ", "`[package.metadata.lmem]`"),
        None => ("", "the `lmem.toml` of the project"),
    };
    match cause(&message.text)? {
        _ if unit.unresolved_options().is_some() => Some(
            "some options are made when the program runs: `cargo lmem run -- COMMAND` checks with all of them"
                .to_string(),
        ),
        Cause::Header(header) if is_file && missing::known_step(header, &unit.path()).is_some() => {
            missing::known_step(header, &unit.path())
        }
        Cause::Header(_) if is_file && may_be_incomplete => {
            Some(format!("{capture}name the header's folder with `-I`, or in `include-dirs` of {table}"))
        }
        Cause::Header(_) if matches!(unit.code, UnitCode::CudaText { .. }) => {
            Some("give NVRTC the header's folder in the options beside the string (`include_paths`)".to_string())
        }
        Cause::Define(name) if is_file && may_be_incomplete => Some(format!(
            "{capture}give `-D {name}=…`, or `defines = [\"{name}=…\"]` in {table}, if the build defines it"
        )),
        Cause::Directive(name) if is_file && may_be_incomplete => {
            let name = name.unwrap_or("NAME");
            Some(format!(
                "{capture}give `-D {name}=…`, or `defines = [\"{name}=…\"]` in {table}, if a define is missing"
            ))
        }
        Cause::Removed => {
            Some("CUDA 13 no longer has it: check with a CUDA 12 that is installed, `--toolkit PATH`".to_string())
        }
        Cause::Header(_) | Cause::Define(_) | Cause::Directive(_) | Cause::Architecture(_) => None,
    }
}

/// The location of an error that other units have too. The same location in the same file is another architecture: those
/// are merged into one diagnostic that lists the architectures.
struct First {
    unit: usize,
    position: usize,
    span: Option<Span>,
}

/// Other units with an error: elsewhere, or in a header that they share.
#[derive(Default)]
struct Others {
    places: Vec<Option<Span>>,
    units: Vec<String>,
}

/// Merges units that fail with the same message into one error that lists their locations. An architecture that the
/// toolkit does not support becomes an error of the run. `names` are those of the units.
pub fn one_for_each_cause(names: &[&str], reports: &mut [UnitReport], toolkit: &Toolkit, cancel: &AtomicBool) {
    let mut firsts: BTreeMap<(Code, String), First> = BTreeMap::new();
    let mut others: BTreeMap<(usize, usize), Others> = BTreeMap::new();
    for (index, report) in reports.iter_mut().enumerate() {
        for diagnostic in std::mem::take(&mut report.diagnostics) {
            let span = diagnostic.primary.as_ref().map(|label| label.span.clone());
            let first = First { unit: index, position: report.diagnostics.len(), span: span.clone() };
            let key = (diagnostic.code.clone(), diagnostic.message.clone());
            let name = names.get(index);
            let is_other = |first: &&First| {
                first.unit != index && (first.span != span || span.is_some() && names.get(first.unit) != name)
            };
            match firsts.get(&key).filter(|first| diagnostic.is_failure() && is_other(first)) {
                Some(first) => {
                    let others = others.entry((first.unit, first.position)).or_default();
                    match first.span == span {
                        true => others.units.extend(name.map(ToString::to_string)),
                        false => others.places.push(span),
                    }
                }
                None => {
                    if diagnostic.is_failure() {
                        firsts.entry(key).or_insert(first);
                    }
                    report.diagnostics.push(diagnostic);
                }
            }
        }
    }
    for ((index, position), others) in others {
        let diagnostic = &mut reports[index].diagnostics[position];
        let own = diagnostic.primary.as_ref().map(|label| label.span.clone());
        diagnostic.notes.extend(also_at(own.as_ref(), others.places));
        diagnostic.notes.extend(the_same("in", others.units));
    }
    let failed = reports.iter_mut().filter(|report| report.failed).flat_map(|report| &mut report.diagnostics);
    let mut known = None;
    for diagnostic in failed {
        if let Some(Cause::Architecture(name)) = cause(&diagnostic.message.clone()) {
            let known = known.get_or_insert_with(|| architectures(toolkit, cancel));
            unknown_architecture(diagnostic, name, toolkit, known);
        }
    }
}

/// The error of a run in which nothing was compiled but for `typed`, architectures of the command line that the toolkit
/// lacks.
pub fn no_such_architecture(reports: &[UnitReport], typed: &[String]) -> Option<CheckError> {
    let is_lacking = |diagnostic: &Diagnostic| {
        let name = diagnostic.message.strip_suffix('`').and_then(|text| text.split_once(LACKS));
        name.is_some_and(|(_, name)| typed.iter().any(|typed| typed == name))
    };
    let mut diagnostics =
        reports.iter().flat_map(|report| &report.diagnostics).filter(|one| one.is_failure()).peekable();
    let first = *diagnostics.peek()?;
    (reports.iter().all(|report| report.failed) && diagnostics.all(is_lacking)).then(|| CheckError::NoArchitecture {
        message: first.message.clone(),
        hints: first.notes.iter().cloned().chain(first.help.iter().map(|help| help.message.clone())).collect(),
    })
}

/// Between the toolkit's version and the name of an architecture.
const LACKS: &str = " has no architecture `";

/// `the same at m2.cu:1, m3.cu:1 and 4 more`
fn also_at(own: Option<&Span>, places: Vec<Option<Span>>) -> Option<String> {
    let mut places: Vec<Span> = places.into_iter().flatten().filter(|place| Some(place) != own).collect();
    places.sort();
    the_same("at", places.iter().map(|place| format!("{}:{}", place.file.display, place.start_line())).collect())
}

fn the_same(word: &str, mut places: Vec<String>) -> Option<String> {
    // Those of one file follow each other, in the order of its lines.
    places.dedup();
    let named: Vec<String> = places.iter().take(MAX_PLACES).map(|place| format!("`{place}`")).collect();
    let more = places.len().checked_sub(MAX_PLACES + 1).map(|more| format!(" and {} more", more + 1));
    (!named.is_empty()).then(|| format!("the same {word} {}{}", named.join(", "), more.unwrap_or_default()))
}

/// Turns the error into one without a location, since no file causes it.
fn unknown_architecture(diagnostic: &mut Diagnostic, name: &str, toolkit: &Toolkit, known: &[String]) {
    diagnostic.message = format!("CUDA {}{LACKS}{name}`", toolkit.version);
    diagnostic.primary = None;
    diagnostic.notes.clear();
    if !known.is_empty() {
        diagnostic.notes.push(format!("it compiles for {}", known.join(", ")));
    }
    let older = known.first().is_some_and(|first| Arch::of(name).number() < Arch::of(first).number());
    let message = match older {
        true => "choose one of these with `--arch`, or an older toolkit with `--toolkit VERSION`",
        false => "choose one of these with `--arch`, or a newer toolkit with `--toolkit VERSION`",
    };
    diagnostic.help = vec![Help { message: message.to_string() }];
}

/// The architectures that the toolkit lists.
fn architectures(toolkit: &Toolkit, cancel: &AtomicBool) -> Vec<String> {
    let Some(nvcc) = &toolkit.nvcc else { return Vec::new() };
    let mut command = Command::new(nvcc);
    command.arg("--list-gpu-code");
    match process::run(&mut command, b"", LIST_LIMIT, cancel) {
        Ok(output) if output.succeeded() => {
            let text = output.text();
            let mut names: Vec<String> =
                text.split_whitespace().filter(|word| word.starts_with("sm_")).map(str::to_string).collect();
            names.sort_by_key(|name| Arch::of(name).number());
            names
        }
        _ => Vec::new(),
    }
}

/// An error of the whole run: without a host compiler no file can be compiled.
pub fn no_host_compiler(unit: &TranslationUnit) -> Diagnostic {
    Diagnostic {
        help: vec![Help {
            message: "install `g++`; kernel strings (NVRTC) and PTX are checked without it".to_string(),
        }],
        package: unit.package.clone(),
        ..Diagnostic::of_tool(
            Severity::Error,
            "compile",
            "nvcc needs a host C++ compiler, and none was found on `PATH`",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::Label;
    use lmem_base::source::SourceFile;

    #[test]
    fn causes_are_told_by_the_words_of_compilers() {
        let causes = [
            ("nope.h: No such file or directory", Some(Cause::Header("nope.h"))),
            ("cannot open source file \"a/b.cuh\"", Some(Cause::Header("a/b.cuh"))),
            ("could not open source file \"x.h\" (no directories in search list)", Some(Cause::Header("x.h"))),
            ("Unsupported gpu architecture 'sm_50'", Some(Cause::Architecture("sm_50"))),
            ("Value 'sm_50' is not defined for option 'gpu-name'", Some(Cause::Architecture("sm_50"))),
            ("identifier \"TILE_M\" is undefined", Some(Cause::Define("TILE_M"))),
            ("identifier \"tile\" is undefined", None),
            ("identifier \"cudaThreadSynchronize\" is undefined", Some(Cause::Removed)),
            ("class \"cudaDeviceProp\" has no member \"clockRate\"", Some(Cause::Removed)),
            ("expected a \";\"", None),
            ("#error RADIX is set by build.rs", Some(Cause::Directive(Some("RADIX")))),
            ("#error \"TILE must be 16 or 32\"", Some(Cause::Directive(Some("TILE")))),
            ("#error not for 32 bits", Some(Cause::Directive(None))),
        ];
        for (text, expected) in causes {
            assert_eq!(cause(text), expected, "{text}");
        }
    }

    fn failed(file: &str, message: &str) -> UnitReport {
        let file = SourceFile::from_text(file, "a\n");
        let unit = TranslationUnit {
            name: "a.cu".into(),
            package: None,
            base: ".".into(),
            code: UnitCode::CudaFile {
                file: file.clone(),
                flags: lmem_project::config::flags_for(None, &file.path, &[]),
            },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        };
        let diagnostic = Diagnostic {
            code: Code::Compiler("nvcc".into()),
            message: message.to_string(),
            primary: Span::line(&file, 1).map(|span| Label { span, text: String::new() }),
            ..no_host_compiler(&unit)
        };
        UnitReport { diagnostics: vec![diagnostic], failed: true, ..UnitReport::default() }
    }

    #[test]
    fn one_cause_is_one_error() {
        let mut reports: Vec<UnitReport> =
            (1..=8).map(|number| failed(&format!("m{number}.cu"), "x.h: No such file or directory")).collect();
        reports.push(failed("m9.cu", "expected a \";\""));
        let names = ["m1.cu", "m2.cu", "m3.cu", "m4.cu", "m5.cu", "m6.cu", "m7.cu", "m8.cu", "m9.cu"];
        one_for_each_cause(&names, &mut reports, &Toolkit::absent(), &AtomicBool::new(false));
        let left: Vec<&Diagnostic> = reports.iter().flat_map(|report| &report.diagnostics).collect();
        assert_eq!(left.len(), 2);
        assert_eq!(left[0].notes, ["the same at `m2.cu:1`, `m3.cu:1`, `m4.cu:1`, `m5.cu:1`, `m6.cu:1` and 2 more"]);
    }

    #[test]
    fn files_that_share_a_header_share_its_error() {
        let error = || failed("shared.cuh", "x.h: No such file or directory");
        // The last one is the first file for another architecture, which folds later.
        let mut reports = vec![error(), error(), error(), error()];
        let names = ["a.cu", "b.cu", "c.cu", "a.cu"];
        one_for_each_cause(&names, &mut reports, &Toolkit::absent(), &AtomicBool::new(false));
        assert_eq!(reports[0].diagnostics[0].notes, ["the same in `b.cu`, `c.cu`"]);
        assert_eq!(reports.iter().map(|report| report.diagnostics.len()).collect::<Vec<_>>(), [1, 0, 0, 1]);
    }

    #[test]
    fn an_unknown_architecture_has_no_place() {
        let mut reports = vec![failed("a.cu", "Unsupported gpu architecture 'sm_50'")];
        one_for_each_cause(&["a.cu"], &mut reports, &Toolkit::absent(), &AtomicBool::new(false));
        let diagnostic = &reports[0].diagnostics[0];
        assert!(diagnostic.message.ends_with("has no architecture `sm_50`") && diagnostic.primary.is_none());
        assert!(diagnostic.help[0].message.contains("`--arch`"));
    }
}
