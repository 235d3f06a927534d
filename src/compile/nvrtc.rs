//! NVRTC: CUDA C++ text from Rust code, compiled as the program would compile it.
//!
//! The library is closed and runs on text of other people, so each compilation happens in a child process of
//! our own (`cargo-lmem __nvrtc-worker`): JSON on its standard input and output, with a time limit outside.

use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;

use cudarc::nvrtc::sys;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Name of the hidden subcommand.
pub const NVRTC_WORKER: &str = "__nvrtc-worker";

/// What the worker is asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub library: PathBuf,
    pub source: String,
    pub program_name: String,
    pub arguments: Vec<String>,
}

/// What it answers: `ptx` where the compilation succeeded, and the compiler's log in any case.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Response {
    pub ptx: Option<String>,
    pub log: String,
    /// Why NVRTC could not be asked at all.
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
/// cudarc looks for `libnvrtc.so` before `libnvrtc.so.13`, and another toolkit may have the former on the
/// loader's path: a link of that name in a folder that comes first makes the choice ours. The library's own
/// folder follows, as NVRTC opens its built-ins by name.
///
/// # Errors
/// The link cannot be made, or our own executable not be found.
pub fn worker_command(library: &Path, folder: &Path) -> std::io::Result<Command> {
    std::os::unix::fs::symlink(library, folder.join("libnvrtc.so"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("lmem").arg(NVRTC_WORKER);
    let folders = [Some(folder), library.parent()].into_iter().flatten();
    let search = std::env::join_paths(folders).map_err(std::io::Error::other)?;
    command.env("LD_LIBRARY_PATH", search);
    Ok(command)
}

/// The worker: one request from standard input, one response to standard output.
///
/// # Errors
/// The request cannot be read or the response not be written.
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
    let program = Program::new(&source, &name)?;
    let result = program.compile(&arguments);
    let log = program.log()?;
    let ptx = match result {
        sys::nvrtcResult::NVRTC_SUCCESS => Some(program.ptx()?),
        _ => None,
    };
    let failure = (ptx.is_none() && log.trim().is_empty()).then(|| format!("NVRTC refuses: {result:?}"));
    Ok(Response { ptx, log, failure })
}

/// Opens the library by its path, globally, so that cudarc's look-up by name finds this one.
fn load(library: &Path) -> Result<(), WorkerError> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: loading runs the initialisers of NVIDIA's library; that is what this process is for.
    let opened = unsafe { Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL) };
    let opened = opened.map_err(|source| WorkerError::Load { path: library.to_path_buf(), source })?;
    // It stays open until the process ends.
    std::mem::forget(opened);
    // SAFETY: only looks whether a library of that name can be opened.
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
    fn new(source: &CStr, name: &CStr) -> Result<Self, WorkerError> {
        let mut program = std::ptr::null_mut();
        // SAFETY: both strings outlive the call, and no headers are passed.
        check(unsafe {
            sys::nvrtcCreateProgram(&mut program, source.as_ptr(), name.as_ptr(), 0, std::ptr::null(), std::ptr::null())
        })?;
        Ok(Self(program))
    }

    fn compile(&self, arguments: &[CString]) -> sys::nvrtcResult {
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let count = i32::try_from(pointers.len()).unwrap_or(i32::MAX);
        // SAFETY: the program is live, and `pointers` holds `count` strings that outlive the call.
        unsafe { sys::nvrtcCompileProgram(self.0, count, pointers.as_ptr()) }
    }

    fn log(&self) -> Result<String, WorkerError> {
        // SAFETY: the program is live; the size that NVRTC gives is that of the buffer that it fills.
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
