//! Clang's command lines for CUDA, as far as nvcc has the same options.
//!
//! Sources are analysed as nvcc compiles them: clang generates other code, but a file that only clang compiles is still one
//! to check, with the include folders, defines and architectures that it is written for. Options are those of "Compiling
//! CUDA with clang" and of clang's command line reference.

use std::path::Path;

/// Options that both have, with a value that may follow without a separator.
const JOINED: [&str; 3] = ["-D", "-U", "-I"];

/// Options that both have, with a value in the next word, or joined.
const SEPARATE: [&str; 2] = ["-isystem", "-include"];

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
pub fn as_nvcc(arguments: &[String], file: &Path) -> Option<Vec<String>> {
    let mut nvcc = vec!["-x".to_string(), "cu".to_string()];
    let mut is_cuda = lmem_base::source::has_ending(file, &["cu"]);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if let Some(option) = JOINED.iter().chain(&SEPARATE).find(|option| word.starts_with(**option)) {
            let value = match &word[option.len()..] {
                "" => words.next()?,
                // `-include-pch FILE`: not an option that nvcc has.
                joined if joined.starts_with('-') => continue,
                joined => joined,
            };
            nvcc.extend([(*option).to_string(), value.to_string()]);
        } else if let Some(language) = word.strip_prefix("-x").or_else(|| word.strip_prefix("--language=")) {
            is_cuda = if language.is_empty() { words.next()? } else { language } == "cuda";
        } else if let Some((_, option)) = RENAMED.iter().find(|(name, _)| *name == word) {
            nvcc.push((*option).to_string());
        } else if word.starts_with("-std=") {
            nvcc.push(word.replacen("gnu++", "c++", 1));
        } else if word == "-Xcuda-ptxas" {
            nvcc.push(format!("-Xptxas={}", words.next()?));
        } else if let Some(names) = word.strip_prefix("--cuda-gpu-arch=").or(word.strip_prefix("--offload-arch=")) {
            let numbers = names.split(',').filter_map(|name| name.strip_prefix("sm_"));
            nvcc.extend(numbers.map(|number| format!("-gencode=arch=compute_{number},code=sm_{number}")));
        } else if matches!(word, "-o" | "-MF" | "-MT" | "-MQ" | "-Xclang" | "-mllvm" | "-target" | "-isysroot") {
            words.next();
        }
    }
    nvcc.push(file.to_str()?.to_string());
    is_cuda.then_some(nvcc)
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
            as_nvcc(&words, Path::new(file)).map(|words| words.join(" "))
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
        assert_eq!(translated("-c a.cpp", "a.cpp"), None);
        assert_eq!(translated("-x c++ -c a.cu", "a.cu"), None);
        assert_eq!(translated("-c a.cu -D", "a.cu"), None);
    }
}
