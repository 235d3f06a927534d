//! Compilations that the program expects to fail: tests of error handling.

use std::ops::Range;

use super::SinkCall;
use super::scan::RustFile;
use super::sinks::Options;

/// Methods that panic unless the compilation fails.
const DEMANDING: [&str; 2] = [".unwrap_err()", ".expect_err("];

/// Number of characters to inspect after a call.
const MAX_LENGTH: usize = 16;

/// Whether the compilation of a text must fail. The fallible call is the call itself, or the only compile call in the
/// same function.
pub(super) fn of_call(rust: &RustFile, call: &SinkCall, options: Options) -> bool {
    let text = rust.text();
    let name = match options {
        Options::None | Options::Cudarc(_) => return must_fail(text, &call.call.range),
        Options::Function(name) => name,
        // Options passed by method or by pointer may belong to several programs.
        Options::Method(_) | Options::Pointers(_) => return false,
    };
    let Some(function) = rust.function_around(call.call.range.start) else { return false };
    let body = &rust.functions[function].body;
    let is_called = |wanted: &str| {
        rust.calls_in(body).filter(|it| it.path.last().is_some_and(|last| last == wanted)).collect::<Vec<_>>()
    };
    let is_only_program = is_called(call.sink.name).len() == 1;
    match is_called(name).as_slice() {
        [only] => is_only_program && must_fail(text, &only.range),
        _ => false,
    }
}

/// Whether the code around a call panics unless the call fails: `CALL.unwrap_err()`, `assert!(CALL.is_err()`,
/// `assert!(matches!(CALL, Err(`. Code that checks for failure and continues does not count.
fn must_fail(text: &str, call: &Range<usize>) -> bool {
    let (Some(before), Some(after)) = (text.get(..call.start), text.get(call.end..)) else { return false };
    let after: String = after.chars().filter(|c| !c.is_whitespace()).take(MAX_LENGTH).collect();
    // The range of the call starts at the function's name; the path before the name is skipped.
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let before = before.trim_end().trim_end_matches(is_of_path).trim_end();
    let block = before.strip_suffix('{').map(str::trim_end).and_then(|before| before.strip_suffix("unsafe"));
    let (before, after) = match (block, after.strip_prefix('}')) {
        (Some(before), Some(after)) => (before.trim_end(), after),
        _ => (before, after.as_str()),
    };
    DEMANDING.iter().any(|method| after.starts_with(method))
        || (before.ends_with("assert!(") && after.starts_with(".is_err()"))
        || (before.ends_with("assert!(matches!(") && after.starts_with(",Err("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_panics_otherwise_must_fail() {
        let must_fail = |text: &str| {
            let start = text.find("compile_ptx(").unwrap();
            let end = start + text[start..].find(')').unwrap() + 1;
            must_fail(text, &(start..end))
        };
        for text in [
            "let error = compile_ptx(S).unwrap_err();",
            "cudarc::nvrtc::compile_ptx(S)\n        .expect_err(\"it is broken\")",
            "assert!(compile_ptx(S).is_err());",
            "assert_eq!(unsafe { nvrtc::compile_ptx(S) }.unwrap_err(), E);",
            "assert!(unsafe { compile_ptx(S) }.is_err());",
            "assert!( nvrtc::compile_ptx(S).is_err(), \"{}\", 1);",
            "assert!(matches!(compile_ptx(S), Err(CompileError::CompileError { .. })));",
        ] {
            assert!(must_fail(text), "{text}");
        }
        for text in [
            "compile_ptx(S).unwrap();",
            "if compile_ptx(S).is_err() { return; }",
            "assert!(!compile_ptx(S).is_err());",
            "assert!(compile_ptx(S).is_ok());",
            "matches!(compile_ptx(S), Err(_))",
            "{ compile_ptx(S) }.unwrap_err();",
            "compile_ptx(S)",
        ] {
            assert!(!must_fail(text), "{text}");
        }
    }
}
