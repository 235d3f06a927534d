//! `cargo lmem run -- COMMAND`: checks the kernels that a program compiles with NVRTC at run time, with their real
//! options.
//!
//! A text that is built at run time is in no source file. A library loaded before NVRTC records it (`record.rs`).
//! Afterwards its lines are searched in the literals and files of the workspace (`origin.rs`), so that findings point
//! to what users edit.

mod origin;
mod record;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use cuda_toolkit::Toolkit;
use lmem_base::files::write_whole;
use lmem_base::guardian::Folder;
use lmem_base::source::SourceFile;
use lmem_base::words::plural;
use lmem_extract::{Extraction, kernel_texts};
use lmem_project::discover::Workspace;
use lmem_unit::{CapturedText, NvrtcOptions, TranslationUnit, UnitCode, UnitNames};

use origin::Sources;
pub use record::Record;

/// The shim library; empty on platforms whose loader cannot preload it.
const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libcargo_lmem_nvrtc.so"));

/// Environment variables of the shim.
const RECORDS: &str = "CARGO_LMEM_NVRTC_RECORDS";
const LIBRARY: &str = "CARGO_LMEM_NVRTC";
const PRELOAD: &str = "LD_PRELOAD";

/// Subfolder of the cache for saved texts.
const FOLDER: &str = "runs";

/// Limit on saved texts; older ones are removed.
const MAX_SAVED: usize = 1024;

/// Time that a program gets to end after Ctrl-C, which it receives as well.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a program could not be traced.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("`cargo lmem run` needs a loader with `{PRELOAD}`: it works on Linux only")]
    NoPreload,
    #[error("`{program}` cannot be started")]
    Start { program: String, source: io::Error },
    #[error("interrupted")]
    Interrupted,
    #[error("{what}")]
    Io { what: &'static str, source: io::Error },
}

impl RunError {
    fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// The texts that a program compiled, and its exit status.
#[derive(Debug)]
pub struct Watched {
    records: Vec<Record>,
    /// Number of unreadable records.
    broken: usize,
    pub status: ExitStatus,
}

/// Runs a command with the shim, which records what NVRTC compiles.
///
/// # Errors
/// The command cannot be started, or was interrupted.
pub fn watch(command: &[OsString], toolkit: &Toolkit, cancel: &AtomicBool) -> Result<Watched, RunError> {
    if SHIM.is_empty() {
        return Err(RunError::NoPreload);
    }
    let [program, arguments @ ..] = command else { return Err(RunError::NoPreload) };
    let folder = Folder::new().map_err(RunError::io("no temporary folder can be made"))?;
    let shim = folder.path().join("libcargo_lmem_nvrtc.so");
    fs_err::write(&shim, SHIM).map_err(RunError::io("the library before NVRTC cannot be written"))?;
    let records = folder.path().join("records");
    fs_err::create_dir(&records).map_err(RunError::io("no temporary folder can be made"))?;
    let mut child = Command::new(program);
    child.args(arguments).env(RECORDS, &records).env(PRELOAD, preloaded(&shim));
    if let Some(library) = &toolkit.nvrtc {
        child.env(LIBRARY, library);
    }
    let name = || program.to_string_lossy().into_owned();
    let mut child = child.spawn().map_err(|source| RunError::Start { program: name(), source })?;
    let mut stop = None;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(RunError::io("the program is lost"))? {
            break status;
        }
        if cancel.load(Ordering::Relaxed) && stop.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            // The program may have ended meanwhile; then killing it fails.
            drop(child.kill());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    if cancel.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted);
    }
    let (records, broken) = record::read(&records);
    Ok(Watched { records, broken, status })
}

fn preloaded(shim: &Path) -> OsString {
    let mut list = shim.as_os_str().to_owned();
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// The folder of saved texts.
pub fn folder(cache_root: &Path) -> PathBuf {
    cache_root.join(FOLDER)
}

/// The texts as units. Each is saved below `cache_root`, for lines that are in no literal.
///
/// # Errors
/// A text cannot be saved.
pub fn extract(
    watched: &Watched,
    workspace: &Workspace,
    toolkit: &Toolkit,
    cache_root: &Path,
) -> Result<Extraction, RunError> {
    let folder = folder(cache_root);
    forget_old(&folder);
    let sources = Sources::new(kernel_texts(workspace));
    let mut extraction = Extraction::default();
    let mut versions: Vec<&str> = watched.records.iter().map(|record| record.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    for version in versions.into_iter().filter(|version| *version != toolkit.version.to_string()) {
        extraction.notes.push(format!("the program has NVRTC {version}, and is checked with {}", toolkit.version));
    }
    if watched.broken > 0 {
        let texts = plural(watched.broken as u64, "text");
        extraction.notes.push(format!("{texts} could not be written down whole"));
    }
    for record in watched.records.iter().filter(|record| !record.failed) {
        let saved = save(record, &folder).map_err(RunError::io("a kernel text cannot be saved"))?;
        let file = SourceFile::read(&saved, &workspace.root).map_err(RunError::io("a kernel text is lost"))?;
        let text = sources.map(&file);
        let begins = text.span(0..text.as_str().len().min(1));
        let kernel = text.as_str().find("__global__").and_then(|at| text.span(at..at + 1));
        let place = kernel.or(begins).map(|span| (span.file.clone(), span.start_line()));
        let name = place.map_or_else(|| file.display.clone(), |(file, line)| format!("{}:{line}", file.display));
        let options = NvrtcOptions {
            arguments: record.options.clone(),
            program_name: record.name.clone(),
            captured: Some(CapturedText {
                headers: record.headers.clone(),
                expressions: record.expressions.clone(),
                takes_cubin: record.takes_cubin,
            }),
            ..NvrtcOptions::default()
        };
        let code = UnitCode::CudaText { text, options };
        let base = record.folder.clone();
        extraction.units.push(TranslationUnit {
            name,
            package: None,
            base,
            code,
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        });
    }
    extraction.units.sort_by(|left, right| left.name.cmp(&right.name));
    let mut names = UnitNames::default();
    extraction.units.iter_mut().for_each(|unit| unit.name = names.unique(&unit.name));
    let failed = watched.records.iter().filter(|record| record.failed).count();
    if failed > 0 {
        let texts = plural(failed as u64, "text");
        extraction.notes.push(format!("the program's own NVRTC refused {texts}, not checked"));
    }
    Ok(extraction)
}

/// Removes the oldest texts above the limit. Only the copies that old reports point to are lost.
fn forget_old(folder: &Path) {
    let entries = fs_err::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut saved: Vec<_> =
        entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    saved.sort();
    let surplus = saved.len().saturating_sub(MAX_SAVED);
    saved.into_iter().take(surplus).for_each(|(_, path)| drop(fs_err::remove_file(path)));
}

fn save(record: &Record, folder: &Path) -> io::Result<PathBuf> {
    let hash = blake3::hash(record.source.as_bytes()).to_hex();
    // A name from the program is only for readers; it may be a path.
    let name = record.name.as_deref().and_then(|name| Path::new(name).file_stem()?.to_str()).unwrap_or("kernel");
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let path = folder.join(format!("{name}-{}.cu", &hash[..12]));
    fs_err::create_dir_all(folder)?;
    if fs_err::read(&path).is_ok_and(|known| known == record.source.as_bytes()) {
        return Ok(path);
    }
    write_whole(&path, record.source.as_bytes())?;
    Ok(path)
}
