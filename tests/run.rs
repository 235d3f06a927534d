//! `cargo lmem run` before programs that find NVRTC in every way there is: `LMEM_LIVE=1 cargo test --test run`.
//!
//! The programs are C, so that no Rust library stands between the test and the loader. They need no GPU.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};

use cuda_toolkit::{Request, Toolkit};

/// Compiles two texts, one of them twice, with a header and a template instance, and one that is broken.
const PROGRAM: &str = r##"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef LINKED
extern int nvrtcCreateProgram(), nvrtcCompileProgram(), nvrtcAddNameExpression(), nvrtcDestroyProgram(), nvrtcGetPTXSize();
#define FIND(name) int (*create)() = nvrtcCreateProgram, (*compile)() = nvrtcCompileProgram, (*add)() = nvrtcAddNameExpression, (*destroy)() = nvrtcDestroyProgram, (*size)() = nvrtcGetPTXSize
#else
#define FIND(name) void *library = dlopen(name, RTLD_NOW); \
    if (!library) { puts(dlerror()); return 3; } \
    int (*create)() = dlsym(library, "nvrtcCreateProgram"), (*compile)() = dlsym(library, "nvrtcCompileProgram"), \
        (*add)() = dlsym(library, "nvrtcAddNameExpression"), (*destroy)() = dlsym(library, "nvrtcDestroyProgram"), \
        (*size)() = dlsym(library, "nvrtcGetPTXSize")
#endif

static const char *text = "#include \"length.h\"\ntemplate <typename T> __global__ void walk(const int* index, T* out) {\n"
    "    T own[LENGTH] = {};\n    for (int i = 0; i < 99; ++i) own[index[i]] += i;\n"
    "    for (int i = 0; i < LENGTH; ++i) out[i] = own[i];\n}\n";

int main(int count, char **arguments) {
    FIND(arguments[1]);
    const char *headers[] = {"#define LENGTH 24\n"}, *names[] = {"length.h"}, *options[] = {"--gpu-architecture=compute_80", "-DX=1"};
    for (int round = 0; round < 2; ++round) {
        void *program;
        size_t bytes = 0;
        if (create(&program, text, "walk.cu", 1, headers, names)) return 4;
        add(program, "walk<double>");
        if (compile(program, 2, options) || size(program, &bytes) || bytes < 100) return 5;
        destroy(&program);
    }
    void *broken;
    create(&broken, "not a kernel", NULL, 0, NULL, NULL);
    if (!compile(broken, 0, NULL)) return 6;
    puts("the program's own words");
    return count > 2 ? 7 : 0;
}
"##;

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let trial = |name: &str, test: fn() -> Result<(), Failed>| Trial::test(name, test).with_ignored_flag(!is_live);
    let trials = vec![
        trial("a_library_found_by_name", || watched(&[], "libnvrtc.so", true)),
        trial("a_library_that_is_not_there_is_that_of_the_toolkit", || watched(&[], "libnvrtc.so.13", false)),
        trial("a_library_opened_by_its_path", || {
            let library = toolkit()?.nvrtc.ok_or("the toolkit has no NVRTC")?;
            watched(&[], &library.to_string_lossy(), false)
        }),
        trial("a_library_that_the_program_is_linked_to", || {
            let library = toolkit()?.nvrtc.ok_or("the toolkit has no NVRTC")?;
            let folder = library.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
            watched(&["-DLINKED", &library.to_string_lossy(), &format!("-Wl,-rpath,{folder}")], "", false)
        }),
        trial("the_programs_exit_code_counts", the_programs_exit_code_counts),
        trial("literals_are_found_again", literals_are_found_again),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn toolkit() -> Result<Toolkit, Failed> {
    let cancel = std::sync::atomic::AtomicBool::new(false);
    Ok(cuda_toolkit::select(Request { quiet: true, ..Request::default() }, &cancel)?.toolkit)
}

/// The program, made with some flags.
fn program(folder: &Path, flags: &[&str]) -> Result<PathBuf, Failed> {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    fs_err::write(&source, PROGRAM)?;
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-w"]).arg(&source).args(flags).arg("-ldl").arg("-o").arg(&program);
    match command.status()?.success() {
        true => Ok(program),
        false => Err("the program does not compile".into()),
    }
}

fn lmem(folder: &Path, command: &[&str], on_path: bool) -> Result<Output, Failed> {
    let toolkit = toolkit()?;
    let mut lmem = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
    lmem.args(["lmem", "run", "--arch", "sm_90", "--no-verify", "-v", "--"]).args(command).current_dir(folder);
    // The cache is ours, and the toolkit that of the machine.
    lmem.env("CARGO_LMEM_CACHE_DIR", folder.join("cache")).env("CUDA_HOME", &toolkit.root);
    match (on_path, &toolkit.nvrtc) {
        (true, Some(library)) => {
            std::os::unix::fs::symlink(library, folder.join("libnvrtc.so"))?;
            // It opens its built-ins by name, too.
            let folders = [folder, library.parent().unwrap_or(folder)];
            lmem.env("LD_LIBRARY_PATH", std::env::join_paths(folders)?);
        }
        _ => {
            lmem.env_remove("LD_LIBRARY_PATH");
        }
    }
    Ok(lmem.output()?)
}

fn watched(flags: &[&str], library: &str, on_path: bool) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = program(folder.path(), flags)?;
    let output = lmem(folder.path(), &[&program.to_string_lossy(), library], on_path)?;
    let (said, notes) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // 24 doubles, of the header and the instance that only the program knows.
    for words in ["`own` (`double[LENGTH]`", "192 B", "walk<double>", "the program's own words"] {
        contains(&said, words)?;
    }
    // Twice the same is once.
    for words in ["flags: captured", "refused 1 text", "1 source"] {
        contains(&notes, words)?;
    }
    if output.status.success() { Ok(()) } else { Err(format!("{}\n{notes}", output.status).into()) }
}

fn contains(text: &str, words: &str) -> Result<(), Failed> {
    if text.contains(words) { Ok(()) } else { Err(format!("`{words}` is not in:\n{text}").into()) }
}

fn the_programs_exit_code_counts() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = program(folder.path(), &[])?;
    let program = program.to_string_lossy();
    let code = |command: &[&str]| lmem(folder.path(), command, false).map(|output| output.status.code());
    let codes = [code(&[&program, "libnvrtc.so", "fail"])?, code(&["false"])?, code(&["./missing"])?];
    if codes == [Some(7), Some(1), Some(2)] { Ok(()) } else { Err(format!("{codes:?}").into()) }
}

/// What the program compiles stands in a literal of a package, but for the type.
fn literals_are_found_again() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = program(folder.path(), &[])?;
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs_err::write(folder.path().join("Cargo.toml"), manifest)?;
    fs_err::create_dir(folder.path().join("src"))?;
    let rust = "const T: &str = \"\\\n#include \\\"length.h\\\"\\ntemplate <typename T> __global__ void walk(const int* index, T* out) {\\n    \\\n    REAL own[LENGTH] = {};\\n    for (int i = 0; i < 99; ++i) own[index[i]] += i;\\n}\\n\";\n";
    fs_err::write(folder.path().join("src/lib.rs"), rust)?;
    let output = lmem(folder.path(), &[&program.to_string_lossy(), "libnvrtc.so"], false)?;
    let said = String::from_utf8_lossy(&output.stdout);
    contains(&said, "src/lib.rs:3:10")?;
    contains(&said, "own[index[i]] += i;")
}
