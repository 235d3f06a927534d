//! Options of the host compiler, of which the preprocessor alone runs: what matters is which macros they define.
//!
//! GCC documents in "Options That Control Optimization" and its neighbours what each `-f` is; `gcc -dM -E` with and without one shows
//! what it defines. Those that load a plugin, or read or write a file, are not among the known.

/// Options without `-f` that are harmless.
const PLAIN: [&str; 8] = ["-w", "-g", "-pthread", "-pedantic", "-ansi", "-pipe", "-trigraphs", "--coverage"];

/// Names of `-f…`, which may have a value behind `=`.
const FEATURES: &[&str] = &[
    "PIC",
    "PIE",
    "abi-version",
    "aligned-new",
    "associative-math",
    "asynchronous-unwind-tables",
    "cf-protection",
    "char8_t",
    "common",
    "concepts",
    "coroutines",
    "data-sections",
    "delete-null-pointer-checks",
    "exceptions",
    "excess-precision",
    "exec-charset",
    "fast-math",
    "fat-lto-objects",
    "finite-math-only",
    "fp-contract",
    "fp-model",
    "freestanding",
    "function-sections",
    "gnu-tm",
    "gnu-unique",
    "gnu89-inline",
    "hosted",
    "implicit-templates",
    "inline",
    "inline-functions",
    "lto",
    "math-errno",
    "merge-constants",
    "ms-extensions",
    "non-call-exceptions",
    "omit-frame-pointer",
    "openacc",
    "openmp",
    "openmp-simd",
    "operator-names",
    "pack-struct",
    "permissive",
    "pic",
    "pie",
    "plt",
    "reciprocal-math",
    "rounding-math",
    "rtti",
    "sanitize",
    "sanitize-recover",
    "semantic-interposition",
    "short-enums",
    "short-wchar",
    "signed-char",
    "signed-zeros",
    "single-precision-constant",
    "sized-deallocation",
    "split-stack",
    "stack-clash-protection",
    "stack-protector",
    "stack-protector-all",
    "stack-protector-strong",
    "strict-aliasing",
    "strict-enums",
    "strict-overflow",
    "strict-flex-arrays",
    "threadsafe-statics",
    "tls-model",
    "trapping-math",
    "trivial-auto-var-init",
    "unroll-loops",
    "unsafe-math-optimizations",
    "unsigned-char",
    "unwind-tables",
    "visibility",
    "visibility-inlines-hidden",
    "wide-exec-charset",
    "wrapv",
    "zero-call-used-regs",
];

/// Beginnings of further `-f…`, which change how code is optimized and how much the compiler bears with.
const OPTIMIZING: [&str; 22] = [
    "align-",
    "caller-saves",
    "constexpr-",
    "cprop",
    "cse-",
    "expensive-",
    "gcse",
    "harden",
    "inline-",
    "ipa-",
    "ira-",
    "keep-",
    "loop-",
    "merge-",
    "message-length",
    "optimize-",
    "peel-",
    "reorder-",
    "sched",
    "split-",
    "template-",
    "tree-",
];

/// Whether an option is known to start no program and to read no file.
pub fn is_host_option(option: &str) -> bool {
    let begins = |prefix: &str| option.starts_with(prefix);
    let is_name = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_+.=".contains(letter));
    let is_warning = begins("-W") && !["-Wp", "-Wa", "-Wl"].contains(&option) && !option.contains('.');
    let is_macro = (begins("-D") || begins("-U")) && option.len() > 2;
    let is_off = option.strip_prefix("-fno-").is_some_and(|name| is_name(name) && !name.contains('='));
    let is_level = begins("-O") && option.len() <= 6 && option[2..].chars().all(char::is_alphanumeric);
    let is_feature = option.strip_prefix("-f").is_some_and(|feature| {
        let name = feature.split('=').next().unwrap_or(feature);
        let is_known = FEATURES.contains(&name) || OPTIMIZING.iter().any(|beginning| name.starts_with(beginning));
        is_known && is_name(feature)
    });
    // Which instructions there are, and how large types and code are. clang hands others on to LLVM.
    let is_of_machine = option.strip_prefix("-m").is_some_and(|name| {
        !name.is_empty() && is_name(name) && !["llvm", "link", "dump"].iter().any(|other| name.starts_with(other))
    });
    PLAIN.contains(&option)
        || is_warning
        || is_macro
        || is_off
        || is_level
        || is_feature
        || is_of_machine
        || begins("-std=")
}

/// Whether a refused option of the host compiler may change the text that is compiled: one of which nothing is known.
pub fn may_define(option: &str) -> bool {
    /// They change messages, names in debug information and in texts, or what later steps make.
    const WITHOUT_TEXT: [&str; 21] = [
        "auto-profile",
        "callgraph-info",
        "color-diagnostics",
        "compare-debug",
        "coverage",
        "debug-",
        "deps-",
        "diagnostics",
        "dump",
        "file-prefix-map",
        "macro-prefix-map",
        "max-errors",
        "mem-report",
        "opt-info",
        "profile",
        "random-seed",
        "save-optimization-record",
        "stack-usage",
        "test-coverage",
        "time-",
        "use-ld",
    ];
    let feature = option.strip_prefix("-f").filter(|feature| !feature.is_empty());
    feature.is_some_and(|feature| {
        !is_host_option(option) && !WITHOUT_TEXT.iter().any(|beginning| feature.starts_with(beginning))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_define_macros_are_taken() {
        for option in [
            "-fopenmp",
            "-fsanitize=address",
            "-fstack-protector-strong",
            "-funsigned-char",
            "-fcf-protection=full",
            "-fabi-version=2",
            "-mcmodel=large",
            "-mlong-double-64",
            "-march=haswell",
            "-fno-rtti",
            "-ftrivial-auto-var-init=zero",
            "-fexec-charset=EBCDIC-US",
            "-ftree-loop-vectorize",
            "-O2",
            "-Wall",
            "-std=c++20",
        ] {
            assert!(is_host_option(option), "{option}");
        }
    }

    #[test]
    fn options_that_run_or_read_are_not() {
        for option in [
            "-fplugin=./evil.so",
            "-fplugin-arg-evil-x",
            "-fprofile-use=/etc/passwd",
            "-fdump-tree-all",
            "-fsanitize=a/b",
            "-specs=evil",
            "-B.",
            "-wrapper",
            "-Wp",
            "-Xpreprocessor",
            "-iquote",
            "-fauto-profile=x",
            "-fpass-plugin=x",
            "-fsanitize-ignorelist=x",
            "-fdiagnostics-format=sarif-file",
            "-fdeps-file=x",
            "-mllvm",
            "-fmodule-mapper=|./evil",
            "-m",
            "-f",
        ] {
            assert!(!is_host_option(option), "{option}");
        }
    }

    #[test]
    fn an_unknown_feature_may_define_macros() {
        for option in ["-fplugin=x", "-finput-charset=UTF-16", "-fmodules-ts", "-fpreprocessed", "-fnew=/a/b"] {
            assert!(may_define(option), "{option}");
        }
        for option in
            ["-ffile-prefix-map=/a=/b", "-fdiagnostics-color", "-fprofile-use=/a", "-B.", "-rdynamic", "-fPIC"]
        {
            assert!(!may_define(option), "{option}");
        }
    }
}
