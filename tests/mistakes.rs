//! Mistakes that people make before they know the tool: each ends with its exit code, one clear sentence, and the next step.
//!
//! Mistakes that only a compiler finds are tried with `LMEM_LIVE=1`, which needs a toolkit.

use snapbox::cmd::{Command, cargo_bin};

/// A mistake, and how it ends.
struct Mistake {
    /// Files beside `Cargo.toml` and an empty `src/lib.rs`, with their text.
    files: &'static [(&'static str, &'static str)],
    /// Behind `cargo-lmem`.
    arguments: &'static str,
    code: i32,
    /// A part of the sentence that says what is wrong.
    says: &'static str,
    /// A part of the next step.
    next: &'static str,
}

const fn typed(arguments: &'static str, code: i32, says: &'static str, next: &'static str) -> Mistake {
    Mistake { files: &[], arguments, code, says, next }
}

const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
const KERNEL: &str = "__global__ void scale(float* a) { a[0] = 2.0f; }\n";

/// What is wrong with the command line, or with settings.
const TYPED: &[Mistake] = &[
    typed("lmem chekc", 2, "there is no command, file or folder `chekc`", "did you mean `check`?"),
    typed("chekc", 2, "there is no command, file or folder `chekc`", "did you mean `check`?"),
    typed("lmem explian dynamic_index", 2, "no command, file or folder `explian`", "did you mean `explain`?"),
    typed("lmem fix", 2, "there is no command, file or folder `fix`", "`cargo lmem help`"),
    typed("lmem -q check", 2, "`check` has to come before all options", "`cargo lmem check …`"),
    typed("lmem no/such.cu", 2, "there is no file or folder", "no/such.cu"),
    typed("lmem --archs sm_90", 2, "unexpected argument '--archs'", "'--arch'"),
    typed("lmem --arch sm_banana", 2, "`sm_banana` is not an architecture", "sm_"),
    typed("lmem --arch 90a0b", 2, "`90a0b` is not an architecture", "sm_"),
    typed("lmem --arch sm90", 2, "`sm90` is not an architecture", "did you mean `sm_90`?"),
    typed("lmem --arch h100", 2, "`h100` is not an architecture", "says what a GPU is: 9.0 is `sm_90`"),
    typed("lmem src --arch sm_80 sm_90", 2, "no file or folder `sm_90`", "separated by commas: `--arch sm_80,sm_90`"),
    typed("lmem -arch=sm_90 src", 2, "`-arch` is an option of nvcc", "`--arch sm_90`"),
    typed("lmem -O3 src", 2, "`-O3` is an option of nvcc", "`--nvcc-flags \"-O3\"`"),
    typed("lmem --format json", 2, "there is no option `--format`", "`--message-format json`"),
    typed("lmem explain spills", 2, "there is no lint `spills`", "did you mean `register_spill`?"),
    typed("lmem -D dynamic_indx", 2, "there is no lint `dynamic_indx`", "did you mean `dynamic_index`?"),
    typed("lmem -D Rolled_loop", 2, "there is no lint `Rolled_loop`", "did you mean `rolled_loop`?"),
    typed("lmem -D usedouble", 2, "there is no lint `usedouble`", "`-D usedouble=1` defines a macro"),
    typed("lmem -A unused_alow", 2, "there is no lint `unused_alow`", "did you mean `unused_allow`?"),
    typed("lmem explain dynamic_indx", 2, "there is no lint `dynamic_indx`", "did you mean `dynamic_index`?"),
    typed("lmem explain zzz", 2, "there is no lint `zzz`", "`cargo lmem explain` lists all of them"),
    typed("lmem --kernel [", 2, "`--kernel`", "unclosed"),
    typed("lmem --output no/such/x.txt", 2, "there is no folder `no/such`", "`mkdir -p no/such`"),
    typed("lmem --output sarfi=x.sarif", 2, "there is no format `sarfi`", "did you mean `sarif`?"),
    typed("lmem --output src", 2, "it is a folder", "name a file in it"),
    typed("lmem --message-format xml", 2, "invalid value 'xml'", "possible values: human"),
    typed("lmem --kernels --message-format short", 2, "`--kernels` needs the format", "`--output markdown=FILE`"),
    typed("lmem diff --baseline known.json", 2, "takes no `--baseline`", "`cargo lmem diff`"),
    typed("lmem -p demmo", 2, "the workspace has no package `demmo`", "did you mean `demo`?"),
    typed("lmem --manifest-path no/Cargo.toml", 2, "there is no file or folder", "no/Cargo.toml"),
    typed("lmem --unsafe-fixes", 2, "required arguments were not provided", "--fix"),
    typed("lmem --exclude demo", 2, "required arguments were not provided", "--workspace"),
    typed("lmem toolkit", 2, "Usage: cargo lmem toolkit", "install"),
    typed("lmem toolkit instal", 2, "unrecognized subcommand 'instal'", "'install'"),
    typed("lmem -v -q", 2, "cannot be used with", "--quiet"),
    typed("lmem -j 0", 2, "invalid value '0'", "1..="),
    typed("lmem measure scan* reduce*", 2, "one name of kernels at a time: `scan*`, `reduce*`", "`{a,b}`"),
    typed("lmem measure --no-verify", 2, "takes no `--no-verify`", "times what was verified"),
    typed("lmem run", 2, "required arguments were not provided", "<COMMAND>"),
    typed(
        "lmem --workspace --exclude demmo -D warnings",
        1,
        "names no package of the workspace with `demmo`",
        "did you mean `demo`?",
    ),
    Mistake {
        files: &[("a.cuh", "")],
        ..typed("lmem a.cuh", 2, "it is a header", "name a `.cu` file that includes it")
    },
    Mistake {
        files: &[("src/lib.rs", "fn f() { compile_ptx(K) }\nfn broken( {\n")],
        ..typed(
            "lmem --offline",
            4,
            "`src/lib.rs` is not checked: it does not parse as Rust",
            "`cargo check` says what is",
        )
    },
    Mistake {
        files: &[("include/a.h", "")],
        ..typed("lmem include", 2, "there is nothing to check in", "headers are checked with the `.cu` files")
    },
    Mistake {
        files: &[("build/compile_commands.json", "[]")],
        ..typed("lmem build", 2, "there is nothing to check in", "`-p FOLDER` takes the compile commands")
    },
    Mistake {
        files: &[("Cargo.toml", "exclude = [\"old\"]"), ("old/a.cu", KERNEL)],
        ..typed("lmem old", 2, "there is nothing to check in", "`exclude` in the settings leaves its files out")
    },
    Mistake {
        files: &[("member/Cargo.toml", "[package"), ("member/a.rs", "")],
        ..typed("lmem member", 4, "`member/Cargo.toml` cannot be used", "its settings are not known")
    },
    Mistake { files: &[("a.cpp", "")], ..typed("lmem a.cpp", 2, "cannot be checked", "`.cu`") },
    Mistake {
        files: &[("Cargo.toml", "nvcc_flag = [\"-O3\"]")],
        ..typed("lmem", 2, "`package.metadata.lmem.nvcc_flag`", "did you mean `nvcc-flags`?")
    },
    Mistake {
        files: &[("Cargo.toml", "lints = { register_spil = \"deny\" }"), ("a.cu", KERNEL)],
        ..typed("lmem --offline", 2, "register_spil", "did you mean `register_spill`?")
    },
    Mistake {
        files: &[("Cargo.toml", "exclude = [\"srcc\"]")],
        ..typed(
            "lmem -D warnings",
            1,
            "`exclude` names no file or folder with `srcc`",
            "relative to the folder of their `Cargo.toml`",
        )
    },
    Mistake {
        files: &[("Cargo.toml", "[[package.metadata.lmem.file]]\npath = \"src/lob.rs\"\narch = \"sm_90\"")],
        ..typed("lmem -D warnings", 1, "`file.path` names no file or folder", "did you mean `src/lib.rs`?")
    },
    Mistake {
        files: &[("Cargo.toml", "toolkit = \"/opt/cuda\"")],
        ..typed("lmem", 2, "may not name programs", "use `--toolkit /opt/cuda`")
    },
    Mistake {
        files: &[("a.cu", KERNEL)],
        ..typed("lmem --arch sm_90 --offline --toolkit /no/such", 2, "/no/such", "is not a folder")
    },
];

/// What a compiler finds wrong.
const COMPILED: &[Mistake] = &[
    Mistake {
        files: &[("a.cu", KERNEL)],
        ..typed("lmem --arch sm_90 --kernel scle", 2, "`--kernel scle` matches no kernel", "did you mean `scale`?")
    },
    Mistake {
        files: &[("a.cu", KERNEL)],
        ..typed("lmem --arch sm_90 --kernel zz*", 2, "`--kernel zz*` matches no kernel", "the kernels are `scale`")
    },
    Mistake {
        files: &[("a.cu", "#include \"nope.h\"\n"), ("b.cu", "#include \"nope.h\"\n")],
        ..typed(
            "lmem --arch sm_90",
            4,
            "nope.h",
            "`--capture` takes the flags of your build; else name the header's folder",
        )
    },
    Mistake {
        files: &[("a.cu", "#ifndef TILE\n#error \"TILE must be set\"\n#endif\n")],
        ..typed(
            "lmem --arch sm_90",
            4,
            "TILE must be set",
            "`--capture` takes the flags of your build; else give `-D TILE=…`",
        )
    },
    Mistake {
        files: &[("a.cu", "#include <cublas_v2.h>\n#include \"nope.h\"\n")],
        ..typed("lmem --arch sm_90", 4, "cublas_v2.h", "`--toolkit PATH` takes an installed CUDA")
    },
    Mistake {
        files: &[("a.cu", "__global__ void f(int* a) { a[0] = TILE_M; }\n")],
        ..typed("lmem --arch sm_90", 4, "identifier \"TILE_M\" is undefined", "`defines = [\"TILE_M=…\"]`")
    },
    Mistake {
        files: &[("a.cu", KERNEL), ("b.cu", "__global__ void g() {}\n")],
        ..typed("lmem --arch sm_50", 2, "has no architecture `sm_50`", "it compiles for sm_")
    },
    Mistake {
        files: &[("a.cu", "// lmem: allow(dynamic_index)\n__global__ void g() {}\n")],
        ..typed("lmem --arch sm_90 -D warnings", 1, "unused `allow` of `dynamic_index`", "error[unused_allow]")
    },
    Mistake {
        files: &[("a.cu", "// lmem: alow(dynamic_index)\n__global__ void g() {}\n")],
        ..typed("lmem --arch sm_90 -D warnings", 1, "`alow` is no directive", "did you mean `allow`?")
    },
    Mistake {
        files: &[("a.cu", "// lmem: budget(stack <= 0B, regs <= 8)\n__global__ void g() {}\n")],
        ..typed("lmem --arch sm_90", 1, "error[invalid_directive]", "a.cu:1")
    },
    Mistake {
        files: &[("a.cu", "// lmem: allow(dynamic_index, \"why\")\n__global__ void g() {}\n")],
        ..typed("lmem --arch sm_90 -D warnings", 1, "stand names of lints", "`reason = \"…\"` after them")
    },
    Mistake {
        files: &[("a.cu", "__global__ void g() { int unused = 1; }\n")],
        ..typed("lmem --arch sm_90 -D compiler_warning", 1, "was declared but never referenced", "177")
    },
];

#[test]
fn mistakes_end_with_the_next_step() {
    check(TYPED);
    assert!(TYPED.len() >= 30);
}

#[test]
fn mistakes_that_compilers_find_end_with_the_next_step() {
    if std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty()) {
        check(COMPILED);
    }
}

fn check(mistakes: &[Mistake]) {
    let problems: Vec<String> = mistakes.iter().filter_map(problem).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// What is wrong with the answer.
fn problem(mistake: &Mistake) -> Option<String> {
    let place = tempfile::tempdir().unwrap();
    fs_err::create_dir(place.path().join("src")).unwrap();
    fs_err::write(place.path().join("src/lib.rs"), "").unwrap();
    fs_err::write(place.path().join("Cargo.toml"), MANIFEST).unwrap();
    for (name, text) in mistake.files {
        let text = match *name {
            "Cargo.toml" => format!("{MANIFEST}\n[package.metadata.lmem]\n{text}\n"),
            _ => text.to_string(),
        };
        let path = place.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    let command = Command::new(cargo_bin!("cargo-lmem")).args(mistake.arguments.split(' ')).env_remove("NO_COLOR");
    let assert = command.current_dir(place.path()).env("CARGO_LMEM_CACHE_DIR", place.path().join("cache")).assert();
    let output = assert.get_output();
    let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    // Some places have no kernels, which is true beside the mistake.
    let is_error = |line: &&str| line.starts_with("error") && !line.ends_with("no CUDA source was found");
    let errors = text.lines().filter(is_error).count();
    // Long lines are broken.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wrong = match output.status.code() {
        code if code != Some(mistake.code) => format!("ended with {code:?} in place of {}", mistake.code),
        _ if errors > 1 => format!("{errors} errors for one mistake"),
        _ if text.contains("\u{1b}[32m") => "something green".to_string(),
        _ if !words.contains(mistake.says) => format!("does not say `{}`", mistake.says),
        _ if !words.contains(mistake.next) => format!("does not say to do `{}`", mistake.next),
        _ => return None,
    };
    Some(format!("`{}`: {wrong}\n{text}", mistake.arguments))
}
