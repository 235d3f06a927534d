//! `nvcc`: from a `.cu` file to PTX and a cubin.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use lmem_base::diagnostic::FlagOrigin;
use lmem_unit::NvccFlags;
use nv_code::unescape_path;

use super::absent::LISTING_FLAGS;
use super::failure::CompileError;
use super::ptxas::REPORTING_FLAGS;

/// Environment variables whose flags nvcc adds to every command line.
pub const ADDING_VARIABLES: [&str; 2] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// What chooses the host compiler.
const HOST_COMPILER: &str = "NVCC_CCBIN";

/// Characters that a shell acts on, within quotation marks or without: nvcc does not put all paths into some.
const ACTIVE: &[char] = &[
    '$', '`', '"', '\'', '\\', ';', '&', '|', '<', '>', '(', ')', '*', '?', '[', ']', '{', '}', '#', '!', '\n', '\r',
    '\t',
];

/// Rejects a toolkit, or a host compiler of the environment, whose path would do something in a shell.
///
/// # Errors
/// There is such a path.
pub fn refuse_shell(nvcc: &Path) -> Result<(), CompileError> {
    let is_active = |path: &Path| path.to_string_lossy().contains(ACTIVE);
    let of_toolkit = "move the toolkit, or choose another place by `--toolkit`, `CUDA_HOME` or `CARGO_LMEM_CACHE_DIR`";
    let real = nvcc.canonicalize().unwrap_or_default();
    let compiler = std::env::var_os(HOST_COMPILER).map(PathBuf::from).unwrap_or_default();
    let paths = [(nvcc, of_toolkit), (&real, of_toolkit), (&compiler, "name another compiler by `NVCC_CCBIN`")];
    match paths.into_iter().find(|(path, _)| is_active(path)) {
        Some((path, next)) => Err(CompileError::Shell { path: path.to_path_buf(), next }),
        None => Ok(()),
    }
}

/// The time of a compilation, for compilers that are not to read the clock (reproducible-builds.org).
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The command line that compiles `source` for one architecture such as `sm_90` into `cubin`.
///
/// `--keep` costs nothing. It keeps the PTX with its `.loc` lines, which the copy inside the cubin lacks, and the
/// preprocessed text, which names every file that was read.
pub fn command(
    nvcc: &Path,
    architecture: &str,
    flags: &NvccFlags,
    arguments: &[String],
    source: &Path,
    folder: &Path,
) -> Command {
    let mut command = preprocessing(nvcc, architecture, flags, arguments);
    command.arg("-cubin").arg("-lineinfo");
    command.arg(format!("-Xptxas={}", REPORTING_FLAGS.join(",")));
    command.arg("--keep").arg("--keep-dir").arg(folder).arg("-o").arg(cubin_path(folder)).arg(source);
    command
}

/// The command line that lists the headers of `source`, whether they are there or not.
pub fn listing(nvcc: &Path, architecture: &str, flags: &NvccFlags, arguments: &[String], source: &Path) -> Command {
    let mut command = preprocessing(nvcc, architecture, flags, arguments);
    command.arg("-E").arg(LISTING_FLAGS).arg(source);
    command
}

/// What decides how a file is preprocessed.
fn preprocessing(nvcc: &Path, architecture: &str, flags: &NvccFlags, arguments: &[String]) -> Command {
    let mut command = base(nvcc, flags, arguments);
    match flags.virtual_architecture(architecture) {
        Some(name) => command.arg(format!("-gencode=arch={name},code={architecture}")),
        None => command.arg(format!("-arch={architecture}")),
    };
    command
}

/// The command line that compiles `source` for the host: a host compiler rejects what nvcc's front end lets pass, such as
/// narrowing in braces. nvcc has no pass for the host alone; one virtual architecture saves `ptxas`, and code for the
/// host is checked and not generated.
pub fn host_command(
    nvcc: &Path,
    architecture: &str,
    flags: &NvccFlags,
    arguments: &[String],
    source: &Path,
    folder: &Path,
) -> Command {
    let name = architecture.replacen("sm_", "compute_", 1);
    let mut command = base(nvcc, flags, arguments);
    command.args(["-c", "-Xcompiler=-fsyntax-only"]).arg(format!("-gencode=arch={name},code={name}"));
    command.arg("--keep").arg("--keep-dir").arg(folder).arg("-o").arg(folder.join("lmem-out.o")).arg(source);
    command
}

fn base(nvcc: &Path, flags: &NvccFlags, arguments: &[String]) -> Command {
    let mut command = Command::new(nvcc);
    command.args(arguments);
    // What `__DATE__` and `__TIME__` stand for would be another text each time, and is not seen in what the preprocessor writes.
    if std::env::var_os(EPOCH).is_none() {
        command.env(EPOCH, "0");
    }
    if flags.origin == FlagOrigin::Captured {
        // For captured flags, the build's values of these variables are already included.
        for name in ADDING_VARIABLES {
            command.env_remove(name);
        }
    }
    command
}

/// The path of the cubin that [`command`] writes.
pub fn cubin_path(folder: &Path) -> PathBuf {
    folder.join("lmem-out.cubin")
}

/// A file that `--keep` left, by its extension.
///
/// # Errors
/// The folder cannot be read.
pub fn kept_file(folder: &Path, ending: &str) -> std::io::Result<Option<PathBuf>> {
    let mut found: Vec<PathBuf> = fs_err::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    found.sort();
    Ok(found.into_iter().next())
}

/// Files that the preprocessor read, from the `# line "file"` markers in its output.
pub fn preprocessed_files(text: &[u8]) -> Vec<PathBuf> {
    // A file has a marker behind each inclusion and each macro of several lines: thousands name a few hundred.
    let mut named = HashSet::new();
    let first = text.starts_with(b"# ").then_some(0);
    let starts = first.into_iter().chain(memchr::memmem::find_iter(text, b"\n# ").map(|at| at + 1));
    for line in starts.map(|start| &text[start..]) {
        let mark = &line[b"# ".len()..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        if !mark.first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        let mut parts = mark.splitn(3, |byte| *byte == b'"');
        let (Some(_), Some(path)) = (parts.next(), parts.next()) else { continue };
        if !path.starts_with(b"<") && !path.is_empty() {
            named.insert(path);
        }
    }
    let paths: BTreeSet<String> = named.into_iter().map(|path| unescape_path(&String::from_utf8_lossy(path))).collect();
    paths.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_acts_on_no_path_of_a_toolkit() {
        for path in ["/a/$(x)/nvcc", "/a/\";x;\"/nvcc", "/a/&x&/nvcc", "/a/`x`/nvcc", "/a/x;y/nvcc", "/a/x\ny/nvcc"] {
            assert!(matches!(refuse_shell(Path::new(path)), Err(CompileError::Shell { .. })), "{path}");
        }
        assert!(refuse_shell(Path::new("/opt/cuda 13.5/bin-x_y+z/nvcc")).is_ok());
    }

    #[test]
    fn line_marks_name_the_files() {
        let text =
            b"# 0 \"a.cu\"\n# 0 \"<built-in>\"\n# 1 \"/usr/include/x.h\" 1 3\nint a;\n#pragma once\n# 3 \"a.cu\" 2\n";
        assert_eq!(preprocessed_files(text), [PathBuf::from("/usr/include/x.h"), PathBuf::from("a.cu")]);
    }
}
