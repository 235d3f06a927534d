//! Clang's command lines for CUDA, as far as nvcc has the same options.
//!
//! Sources are analysed as nvcc compiles them: clang generates other code, but a file that only clang compiles is still one
//! to check, with the include folders, defines and architectures that it is written for. Options are those of "Compiling
//! CUDA with clang" and of clang's command line reference.

use std::path::Path;

use crate::config::nvcc_flags::may_change_text;

/// Options that both have, with a value that may follow without a separator.
const JOINED: [&str; 3] = ["-D", "-U", "-I"];

/// Options that both have, with a value in the next word, or joined.
const SEPARATE: [&str; 2] = ["-isystem", "-include"];

/// Long names of these, with a value that follows `=` or in the next word.
const LONG: [(&str, &str); 4] =
    [("--define-macro", "-D"), ("--undefine-macro", "-U"), ("--include-directory", "-I"), ("--include", "-include")];

/// What `-x` calls CUDA.
const LANGUAGES: [&str; 3] = ["cuda", "cu", "cuda-cpp-output"];

/// What clang compiles, as nvcc would be asked for it.
#[derive(Debug, PartialEq)]
pub struct Translated {
    pub arguments: Vec<String>,
    /// Options that may change which text is compiled, and that nvcc does not have.
    pub dropped: Vec<String>,
}

/// Options of clang that nvcc spells in another way.
const RENAMED: [(&str, &str); 6] = [
    ("-fgpu-rdc", "-rdc=true"),
    ("-ffast-math", "-use_fast_math"),
    ("-fgpu-flush-denormals-to-zero", "-ftz=true"),
    ("-fcuda-flush-denormals-to-zero", "-ftz=true"),
    ("-ffp-contract=off", "-fmad=false"),
    ("-ffp-contract=on", "-fmad=true"),
];

/// Whether the program is clang; versions are part of its name: `clang++-18`.
pub fn is_clang(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or("");
    let rest = name.strip_prefix("clang++").or_else(|| name.strip_prefix("clang")).unwrap_or("no");
    rest.trim_end_matches(".exe").bytes().all(|byte| byte == b'-' || byte == b'.' || byte.is_ascii_digit())
}

/// The arguments with which nvcc compiles what clang's `arguments` compile; `None` if `file` is not compiled as CUDA.
pub fn as_nvcc(arguments: &[String], file: &Path) -> Option<Translated> {
    let mut nvcc = vec!["-x".to_string(), "cu".to_string()];
    let mut dropped = Vec::new();
    let mut is_cuda = lmem_base::source::has_ending(file, &["cu"]);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let long = LONG.iter().find_map(|(name, option)| {
            let rest = word.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('=')).then_some((*option, rest.strip_prefix('=')))
        });
        if let Some((option, value)) = long {
            nvcc.extend([option.to_string(), value.or_else(|| words.next())?.to_string()]);
        } else if let Some(option) = JOINED.iter().chain(&SEPARATE).find(|option| word.starts_with(**option)) {
            let value = match &word[option.len()..] {
                "" => words.next()?,
                // `-include-pch FILE`: not an option that nvcc has.
                joined if joined.starts_with('-') => continue,
                joined => joined,
            };
            nvcc.extend([(*option).to_string(), value.to_string()]);
        } else if let Some(language) = language(word) {
            is_cuda = LANGUAGES.contains(&if language.is_empty() { words.next()? } else { language });
        } else if let Some((_, option)) = RENAMED.iter().find(|(name, _)| *name == word) {
            nvcc.push((*option).to_string());
        } else if word.starts_with("-std=") {
            nvcc.push(word.replacen("gnu++", "c++", 1));
        } else if word == "-Xcuda-ptxas" {
            nvcc.push(format!("-Xptxas={}", words.next()?));
        } else if let Some(names) = word.strip_prefix("--cuda-gpu-arch=").or(word.strip_prefix("--offload-arch=")) {
            let numbers = names.split(',').filter_map(|name| name.strip_prefix("sm_"));
            nvcc.extend(numbers.map(|number| format!("-gencode=arch=compute_{number},code=sm_{number}")));
        } else if matches!(word, "-o" | "-MF" | "-MT" | "-MQ" | "-mllvm" | "-target" | "-isysroot") {
            words.next();
        } else if word == "-Xclang" || word.starts_with("-Xarch_") {
            let value = words.next()?;
            dropped.extend(may_change_text(value).then(|| format!("{word} {value}")));
        } else if word.starts_with("-cxx-isystem") || word.starts_with("--config") || may_change_text(word) {
            dropped.push(word.to_string());
        }
    }
    nvcc.push(file.to_str()?.to_string());
    is_cuda.then_some(Translated { arguments: nvcc, dropped })
}

/// The language that an option chooses; empty if the next word names it.
fn language(word: &str) -> Option<&str> {
    let value = word.strip_prefix("--language").filter(|rest| rest.is_empty() || rest.starts_with('='));
    value.map(|value| value.trim_start_matches('=')).or_else(|| word.strip_prefix("-x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clang_is_known_by_its_name() {
        for (program, expected) in [
            ("clang++", true),
            ("/usr/lib/llvm-18/bin/clang", true),
            ("clang++-18", true),
            ("clang-cl", false),
            ("clang-tidy", false),
            ("g++", false),
            ("", false),
        ] {
            assert_eq!(is_clang(program), expected, "{program}");
        }
    }

    #[test]
    fn options_that_nvcc_has_too_are_kept() {
        let translated = |line: &str, file: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            as_nvcc(&words, Path::new(file)).map(|found| found.arguments.join(" "))
        };
        assert_eq!(
            translated(
                "-DN=4 -D M -Iinc -isystem /s -include pre.h -include-pch p.pch -std=gnu++17 -O2 --cuda-gpu-arch=sm_80 \
                 --offload-arch=sm_90,sm_86 -fgpu-rdc -Xcuda-ptxas --maxrregcount=32 -Wall -c a.cu -o -DX",
                "a.cu"
            )
            .unwrap(),
            "-x cu -D N=4 -D M -I inc -isystem /s -include pre.h -std=c++17 -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_86,code=sm_86 -rdc=true \
             -Xptxas=--maxrregcount=32 a.cu"
        );
        assert_eq!(translated("-x cuda -c a.cpp", "a.cpp").unwrap(), "-x cu a.cpp");
        assert_eq!(translated("-xcuda -c a.cpp", "a.cpp").unwrap(), "-x cu a.cpp");
        let long = "--language cuda --define-macro X --include-directory=inc --include e.h";
        assert_eq!(translated(long, "a.cpp").unwrap(), "-x cu -D X -I inc -include e.h a.cpp");
        let dropped = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            as_nvcc(&words, Path::new("a.cu")).unwrap().dropped.join(" ")
        };
        for line in
            ["-Xclang -DX", "-imacros", "-iquotex", "-Wp,-DX", "--config=x", "-working-directory", "-cxx-isystem"]
        {
            assert_eq!(dropped(line), line);
        }
        assert_eq!(dropped("-Xclang -disable-llvm-passes -fPIC -Wall -O2 -isysroot / -target x"), "");
        assert_eq!(translated("-c a.cpp", "a.cpp"), None);
        assert_eq!(translated("-x c++ -c a.cu", "a.cu"), None);
        assert_eq!(translated("-c a.cu -D", "a.cu"), None);
    }
}
