//! NVRTC: compiles CUDA C++ text from Rust code as the program would.
//!
//! The library is closed source and processes untrusted text, so each compilation runs in a child process
//! (`cargo-lmem __nvrtc-worker`): JSON on standard input and output, with a time limit set by the parent.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;

use cudarc::nvrtc::sys;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use cuda_toolkit::Toolkit;
use lmem_base::places;
use lmem_base::source::normalize;

use super::include_lines;

/// Limit on included files; more indicate a cycle.
const MAX_INCLUDES: usize = 10_000;

/// Larger files are not searched for `#include` lines.
const MAX_INCLUDE_BYTES: u64 = 16 << 20;

/// Name of the hidden subcommand.
pub const NVRTC_WORKER: &str = "__nvrtc-worker";

/// A request to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub library: PathBuf,
    pub source: String,
    pub program_name: String,
    pub arguments: Vec<String>,
    /// Names and texts of headers that are not files.
    pub headers: Vec<(String, String)>,
    /// Requested template instances.
    pub expressions: Vec<String>,
}

/// The worker's response: `ptx` if the compilation succeeded, and the compiler's log in any case.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Response {
    pub ptx: Option<String>,
    pub log: String,
    /// Why NVRTC could not be called at all.
    pub failure: Option<String>,
}

#[derive(Debug, Error)]
enum WorkerError {
    #[error("NVRTC `{path}` cannot be loaded")]
    Load { path: PathBuf, source: libloading::Error },
    #[error("`{0}` is not the NVRTC that the loader finds by its name")]
    OtherLibrary(PathBuf),
    #[error("the kernel text has a zero byte")]
    ZeroByte(#[from] std::ffi::NulError),
    #[error("NVRTC refuses: {0:?}")]
    Nvrtc(sys::nvrtcResult),
}

/// The command that starts a worker, with `folder` for a link to the library.
///
/// cudarc looks for `libnvrtc.so` before `libnvrtc.so.13`, and another toolkit may provide the former on the loader's
/// path. A link of that name in the first folder of the path selects our library. The library's own folder follows,
/// because NVRTC opens its built-ins by name.
///
/// # Errors
/// The link cannot be made, or our own executable cannot be found.
pub fn worker_command(library: &Path, folder: &Path) -> std::io::Result<Command> {
    let link = folder.join("libnvrtc.so");
    // The link exists already at the second attempt for one unit.
    if !link.exists() {
        std::os::unix::fs::symlink(library, link)?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("lmem").arg(NVRTC_WORKER);
    let folders = [Some(folder), library.parent()].into_iter().flatten();
    let search = std::env::join_paths(folders).map_err(std::io::Error::other)?;
    command.env("LD_LIBRARY_PATH", search);
    Ok(command)
}

/// Changed arguments with which a kernel string may compile here, if the program's own arguments fail because its
/// toolkit has another version or path. Returned with a message for the user.
pub fn rescue(said: &str, arguments: &[String], toolkit: &Toolkit) -> Option<(Vec<String>, String)> {
    if said.contains("invalid value for --gpu-architecture") {
        let is_architecture =
            |argument: &&String| argument.starts_with("--gpu-architecture") || argument.starts_with("-arch");
        let asked_for = arguments.iter().find(is_architecture)?;
        let note = format!("`{asked_for}` was left out: NVRTC {} does not know it", toolkit.version);
        return Some((arguments.iter().filter(|argument| !is_architecture(argument)).cloned().collect(), note));
    }
    let folders = toolkit.include_dirs().into_iter().map(|folder| format!("--include-path={}", folder.display()));
    let folders: Vec<String> = folders.filter(|folder| !arguments.contains(folder)).collect();
    let lacks_header = said.contains("could not open source file") || said.contains("cannot open source file");
    if !lacks_header || folders.is_empty() {
        return None;
    }
    Some(([arguments, &folders].concat(), "the toolkit's own headers were added to the include folders".to_string()))
}

/// The options that NVRTC passes to its ptxas, for programs that take machine code from it.
pub fn ptxas_flags(arguments: &[String]) -> Vec<String> {
    let mut flags = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if !matches!(name, "--maxrregcount" | "-maxrregcount" | "--ptxas-options" | "-Xptxas") {
            continue;
        }
        let Some(value) = value.map(String::from).or_else(|| words.next().cloned()) else { break };
        match name.ends_with("maxrregcount") {
            true => flags.push(format!("--maxrregcount={value}")),
            false => flags.extend(value.split(',').map(String::from)),
        }
    }
    // Unknown options may write files, and the author of the text is not always the user.
    flags.retain(|flag| lmem_project::config::nvcc_flags::is_ptxas_option(flag));
    flags
}

/// Files that a text includes directly or transitively, as far as they are found next to it or in its include folders.
/// NVRTC lists none. Conditionals around an `#include` are not evaluated, so the list may be longer than what was read.
pub fn included_files(text: &str, base: &Path, arguments: &[String]) -> Vec<PathBuf> {
    let folders = include_folders(base, arguments);
    let mut found = BTreeSet::new();
    let mut open = vec![(base.to_path_buf(), text.to_string())];
    while let Some((folder, text)) = open.pop() {
        let text = text.replace("\\\r\n", "").replace("\\\n", "");
        for name in text.lines().flat_map(named_files) {
            let places = std::iter::once(&folder).chain(&folders).map(|folder| normalize(&folder.join(name)));
            let Some(path) = places.into_iter().find(|path| path.is_file()) else { continue };
            if found.len() < MAX_INCLUDES && found.insert(path.clone()) {
                let text = places::read(&path, MAX_INCLUDE_BYTES).unwrap_or_default();
                let folder = path.parent().unwrap_or(base).to_path_buf();
                open.push((folder, String::from_utf8_lossy(&text).into_owned()));
            }
        }
    }
    found.into_iter().collect()
}

fn include_folders(base: &Path, arguments: &[String]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let joined = ["--include-path=", "-I="].iter().find_map(|name| argument.strip_prefix(name));
        let joined = joined.or_else(|| argument.strip_prefix("-I").filter(|rest| !rest.is_empty()));
        let folder = match joined {
            Some(folder) => Some(folder.to_string()),
            None if matches!(argument.as_str(), "-I" | "--include-path") => arguments.next().cloned(),
            None => None,
        };
        folders.extend(folder.map(|folder| base.join(folder)));
    }
    folders
}

/// What a line that may include a file, or define what another one includes, has in quotation marks or angle brackets.
fn named_files(line: &str) -> impl Iterator<Item = &str> {
    let line = if include_lines::may_name_files(line) { line } else { "" };
    include_lines::quoted(line).chain(include_lines::angled(line))
}

/// Runs the worker: one request from standard input, one response to standard output.
///
/// # Errors
/// The request cannot be read, or the response cannot be written.
pub fn worker() -> std::io::Result<()> {
    let request: Request = serde_json::from_reader(std::io::stdin().lock())?;
    let response = compile(&request).unwrap_or_else(|error| {
        let cause = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        Response { failure: Some(format!("{error}{cause}")), ..Default::default() }
    });
    serde_json::to_writer(std::io::stdout().lock(), &response)?;
    Ok(())
}

fn compile(request: &Request) -> Result<Response, WorkerError> {
    load(&request.library)?;
    let source = CString::new(request.source.as_str())?;
    let name = CString::new(request.program_name.as_str())?;
    let arguments: Vec<CString> =
        request.arguments.iter().map(|argument| CString::new(argument.as_str())).collect::<Result<_, _>>()?;
    let expressions: Vec<CString> =
        request.expressions.iter().map(|name| CString::new(name.as_str())).collect::<Result<_, _>>()?;
    let program = Program::new(&source, &name, &request.headers)?;
    expressions.iter().try_for_each(|expression| program.add(expression))?;
    let result = program.compile(&arguments);
    let log = program.log()?;
    let ptx = match result {
        sys::nvrtcResult::NVRTC_SUCCESS => Some(program.ptx()?),
        _ => None,
    };
    let failure = (ptx.is_none() && log.trim().is_empty()).then(|| format!("NVRTC refuses: {result:?}"));
    Ok(Response { ptx, log, failure })
}

/// Opens the library by path with global visibility, so that cudarc's lookup by name finds this one.
fn load(library: &Path) -> Result<(), WorkerError> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: loading runs the initializers of NVIDIA's library, which is the purpose of this process.
    let opened = unsafe { Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL) };
    let opened = opened.map_err(|source| WorkerError::Load { path: library.to_path_buf(), source })?;
    // The library stays open until the process ends.
    std::mem::forget(opened);
    // SAFETY: the call only checks whether a library of that name can be opened.
    match unsafe { sys::is_culib_present() } {
        true => Ok(()),
        false => Err(WorkerError::OtherLibrary(library.to_path_buf())),
    }
}

/// An NVRTC program, destroyed when dropped.
struct Program(sys::nvrtcProgram);

fn check(result: sys::nvrtcResult) -> Result<(), WorkerError> {
    match result {
        sys::nvrtcResult::NVRTC_SUCCESS => Ok(()),
        other => Err(WorkerError::Nvrtc(other)),
    }
}

impl Program {
    fn new(source: &CStr, name: &CStr, headers: &[(String, String)]) -> Result<Self, WorkerError> {
        let strings = |pick: fn(&(String, String)) -> &str| {
            headers.iter().map(|header| CString::new(pick(header))).collect::<Result<Vec<CString>, _>>()
        };
        let (names, texts) = (strings(|header| header.0.as_str())?, strings(|header| header.1.as_str())?);
        let pointers = |strings: &[CString]| strings.iter().map(|string| string.as_ptr()).collect::<Vec<_>>();
        let (name_pointers, text_pointers) = (pointers(&names), pointers(&texts));
        let count = i32::try_from(headers.len()).unwrap_or(i32::MAX);
        let mut program = std::ptr::null_mut();
        // SAFETY: all strings outlive the call, and both lists have `count` elements.
        check(unsafe {
            let (texts, names) = (text_pointers.as_ptr(), name_pointers.as_ptr());
            sys::nvrtcCreateProgram(&mut program, source.as_ptr(), name.as_ptr(), count, texts, names)
        })?;
        Ok(Self(program))
    }

    fn add(&self, expression: &CStr) -> Result<(), WorkerError> {
        // SAFETY: the program is live and not compiled yet.
        check(unsafe { sys::nvrtcAddNameExpression(self.0, expression.as_ptr()) })
    }

    fn compile(&self, arguments: &[CString]) -> sys::nvrtcResult {
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let count = i32::try_from(pointers.len()).unwrap_or(i32::MAX);
        // SAFETY: the program is live, and `pointers` has `count` strings that outlive the call.
        unsafe { sys::nvrtcCompileProgram(self.0, count, pointers.as_ptr()) }
    }

    fn log(&self) -> Result<String, WorkerError> {
        // SAFETY: the program is live, and the buffer has the size that NVRTC reports.
        self.text(
            |program, size| unsafe { sys::nvrtcGetProgramLogSize(program, size) },
            |program, buffer| unsafe { sys::nvrtcGetProgramLog(program, buffer) },
        )
    }

    fn ptx(&self) -> Result<String, WorkerError> {
        // SAFETY: as for the log; only called after a successful compilation.
        self.text(
            |program, size| unsafe { sys::nvrtcGetPTXSize(program, size) },
            |program, buffer| unsafe { sys::nvrtcGetPTX(program, buffer) },
        )
    }

    fn text(
        &self,
        size: impl Fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult,
        fill: impl Fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult,
    ) -> Result<String, WorkerError> {
        let mut length = 0;
        check(size(self.0, &mut length))?;
        let mut buffer = vec![0u8; length.max(1)];
        check(fill(self.0, buffer.as_mut_ptr().cast()))?;
        buffer.truncate(buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len()));
        Ok(String::from_utf8_lossy(&buffer).into_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is live and not used again.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_ptxas_are_found() {
        let arguments = ["-I/x", "--maxrregcount=32", "-Xptxas", "-O1,-o", "--ptxas-options=-v"].map(String::from);
        assert_eq!(ptxas_flags(&arguments), ["--maxrregcount=32", "-O1", "-v"]);
    }

    #[test]
    fn includes_are_followed_through_folders() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, text).unwrap();
            path
        };
        let one = write("include/one.cuh", "#include \"two.cuh\"\n#include <missing.h>\n");
        let two = write("include/two.cuh", "# include <one.cuh>\n");
        let text = "  #include <one.cuh>\n// #include nothing\n#include MACRO\n";
        for argument in [vec!["-Iinclude"], vec!["--include-path=include"], vec!["-I", "include"]] {
            let arguments: Vec<String> = argument.into_iter().map(str::to_string).collect();
            assert_eq!(included_files(text, folder.path(), &arguments), [one.clone(), two.clone()], "{arguments:?}");
        }
        assert_eq!(included_files(text, folder.path(), &[]), Vec::<PathBuf>::new());
        // Names that macros stand for, and other ways to write a directive.
        for text in ["#define H <one.cuh>\n#include H\n", "%:include <one.cuh>\n", "#/**/inc\\\nlude /**/ <one.cuh>\n"]
        {
            assert_eq!(included_files(text, folder.path(), &["-Iinclude".to_string()]), [one.clone(), two.clone()]);
        }
        assert_eq!(named_files(&format!("#include {}", "<".repeat(1 << 20))).count(), 0);
    }
}
