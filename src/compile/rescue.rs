//! Missing flags: derived from the compiler's messages, tried, and reported to the user.
//!
//! This only happens if flags are assumed. Measured on 343 files of 19 public repositories: 60 failed for lack of an
//! include folder, 7 for curand's headers, 6 for `--expt-relaxed-constexpr`, 3 for a higher architecture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuda_toolkit::Library;
use walkdir::{DirEntry, WalkDir};

use lmem_base::mangling::demangle;
use lmem_project::config::nvcc_flags::is_safe_path;
use lmem_unit::{CompilerMessage, MessageKind};

/// Search depth; deeper folders contain no header that a build would use.
const MAX_DEPTH: usize = 24;

/// A change of the command line, and the message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rescue {
    Flags {
        flags: Vec<String>,
        note: String,
    },
    /// Compile for this architecture instead.
    Architecture {
        architecture: String,
        note: String,
    },
    /// A header of a library is missing, which is a separate part of the toolkit.
    Library(Library),
}

/// Index of headers below a folder, by file name; built on first use.
#[derive(Debug, Clone)]
pub struct HeaderIndex {
    root: PathBuf,
    headers: OnceLock<BTreeMap<String, Vec<PathBuf>>>,
}

impl HeaderIndex {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), headers: OnceLock::new() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn headers(&self) -> &BTreeMap<String, Vec<PathBuf>> {
        self.headers.get_or_init(|| {
            let mut headers: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
            let walk = WalkDir::new(&self.root).max_depth(MAX_DEPTH).sort_by_file_name();
            for entry in walk
                .into_iter()
                .filter_entry(is_searched)
                .filter_map(Result::ok)
                .filter(|entry| entry.file_type().is_file())
            {
                headers.entry(entry.file_name().to_string_lossy().into_owned()).or_default().push(entry.into_path());
            }
            headers
        })
    }

    /// The folder that makes `#include <header>` work from `source`. Of several, it is the one with the longest common
    /// prefix, then the one with the shortest path, so that the result is deterministic.
    pub fn include_folder(&self, header: &str, source: &Path) -> Option<PathBuf> {
        let wanted = Path::new(header);
        let candidates = self.headers().get(wanted.file_name()?.to_str()?)?;
        let folders = candidates
            .iter()
            .filter(|path| path.ends_with(wanted))
            .filter_map(|path| path.ancestors().nth(wanted.components().count()).map(Path::to_path_buf));
        folders.min_by_key(|folder| {
            let shared = folder.components().zip(source.components()).take_while(|(left, right)| left == right).count();
            (std::cmp::Reverse(shared), folder.components().count(), folder.clone())
        })
    }
}

fn is_searched(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let skipped = entry.file_type().is_dir() && (name == "target" || name == "node_modules" || name.starts_with('.'));
    entry.depth() == 0 || !skipped
}

/// What stands around the name in the note of a file that calls a function of another one.
const CALLS: &str = "the file calls ";
const ELSEWHERE: &str = " of another one";

/// A change that may help after these messages; `None` if none is known, or it was tried already.
pub fn rescue(messages: &[CompilerMessage], source: &Path, headers: &HeaderIndex, tried: &[String]) -> Option<Rescue> {
    messages
        .iter()
        .filter(|message| message.kind == MessageKind::Error)
        .find_map(|message| one(&message.text, source, headers))
        .filter(
            |rescue| !matches!(rescue, Rescue::Flags { flags, .. } if flags.iter().all(|flag| tried.contains(flag))),
        )
}

fn one(text: &str, source: &Path, headers: &HeaderIndex) -> Option<Rescue> {
    if let Some(header) = missing_header(text) {
        return missing_include(header, source, headers);
    }
    let flag = |flag: &str, why: &str| {
        Some(Rescue::Flags { flags: vec![flag.to_string()], note: format!("`{flag}` was added: {why}") })
    };
    if text.contains("--expt-relaxed-constexpr") {
        return flag("--expt-relaxed-constexpr", "a kernel calls a `constexpr` host function");
    }
    if text.contains("--extended-lambda") || text.contains("--expt-extended-lambda") {
        return flag("--extended-lambda", "a kernel is given a device lambda");
    }
    if let Some(name) = text.strip_prefix("Unresolved extern function") {
        let name = demangle(name.trim().trim_matches(['\'', '`', '"']));
        return flag("-rdc=true", &format!("{CALLS}`{name}`{ELSEWHERE}"));
    }
    if text.starts_with("Unresolved extern variable") {
        return flag("-rdc=true", "the file uses a variable of another one");
    }
    if text.contains("requires separate compilation mode") {
        return flag("-rdc=true", "a kernel launches kernels");
    }
    if text.contains("unsupported GNU version") || text.contains("-allow-unsupported-compiler") {
        return flag("-allow-unsupported-compiler", "this nvcc does not know the host compiler");
    }
    required_architecture(text)
}

/// The function of another file that a file calls, by the note of the rescue that made the call possible.
pub fn called_elsewhere(note: &str) -> Option<&str> {
    let (_, name) = note.split_once(CALLS)?;
    name.strip_suffix(ELSEWHERE).map(|name| name.trim_matches('`'))
}

/// A change that warnings of a successful compilation ask for: without it, another program was compiled than any build has.
pub fn rescue_of_warnings(messages: &[CompilerMessage], arguments: &[String]) -> Option<Rescue> {
    let is_static = |message: &CompilerMessage| {
        // `20044-D`, of `extern __device__` and `extern __constant__`
        message.kind == MessageKind::Warning
            && message.text.starts_with("extern declaration of the entity ")
            && message.text.contains("treated as a static definition")
    };
    let is_told = |argument: &String| argument.contains("-rdc") || argument.contains("relocatable-device-code");
    let asks = messages.iter().any(is_static) && !arguments.iter().any(is_told);
    asks.then(|| Rescue::Flags {
        flags: vec!["-rdc=true".to_string()],
        note: "`-rdc=true` was added: the file has a variable of another one".to_string(),
    })
}

/// The header that an error of the preprocessor or of the front end says is missing.
pub fn missing_header(text: &str) -> Option<&str> {
    text.strip_suffix(": No such file or directory").or_else(|| {
        text.split_once("cannot open source file \"").and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name)
    })
}

fn missing_include(header: &str, source: &Path, headers: &HeaderIndex) -> Option<Rescue> {
    // nvcc passes its arguments to a shell, so the folder's name must not contain shell syntax.
    if let Some(folder) = headers.include_folder(header, source).filter(|folder| is_safe_path(folder)) {
        let shown = folder.strip_prefix(&headers.root).unwrap_or(&folder).display().to_string();
        let shown = if shown.is_empty() { ".".to_string() } else { shown };
        let note = format!("include folder `{shown}` was added, which has `{header}`");
        return Some(Rescue::Flags { flags: vec![format!("-I{}", folder.display())], note });
    }
    Library::of_header(header).map(Rescue::Library)
}

/// Parses `Feature 'x' requires .target sm_90 or higher`, `Instruction 'x' not supported on .target 'sm_80'`.
fn required_architecture(text: &str) -> Option<Rescue> {
    let (_, rest) = text.split_once("requires .target sm_").or_else(|| text.split_once("requires .target 'sm_"))?;
    let digits: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    let architecture = format!("sm_{digits}");
    let note = format!("compiled for `{architecture}`: the file needs it or higher");
    (!digits.is_empty()).then_some(Rescue::Architecture { architecture, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> CompilerMessage {
        let (compiler, text) = ("nvcc".to_string(), text.to_string());
        CompilerMessage { kind: MessageKind::Error, compiler, number: None, text, place: None, column: None }
    }

    #[test]
    fn a_function_of_another_file_is_named() {
        let found =
            one("Unresolved extern function '_Z3badPKiPii'", Path::new("a.cu"), &HeaderIndex::new(Path::new("/none")));
        let Some(Rescue::Flags { flags, note }) = found else { panic!("{found:?}") };
        assert_eq!((flags, called_elsewhere(&note)), (vec!["-rdc=true".to_string()], Some("bad")));
        assert_eq!(called_elsewhere("`-rdc=true` was added: a kernel launches kernels"), None);
    }

    #[test]
    fn a_variable_of_another_file_needs_separate_compilation() {
        let text = "extern declaration of the entity table is treated as a static definition";
        let warning = CompilerMessage { kind: MessageKind::Warning, ..error(text) };
        let found = rescue_of_warnings(std::slice::from_ref(&warning), &["-O3".into()]);
        assert!(matches!(found, Some(Rescue::Flags { flags, .. }) if flags == ["-rdc=true"]));
        for told in ["-rdc=true", "-rdc=false", "--relocatable-device-code=false"] {
            assert_eq!(rescue_of_warnings(std::slice::from_ref(&warning), &[told.into()]), None, "{told}");
        }
        assert_eq!(rescue_of_warnings(&[error("extern declaration of the entity")], &[]), None);
    }

    #[test]
    fn the_nearest_folder_that_ends_in_the_header_is_taken() {
        let root = tempfile::tempdir().unwrap();
        for path in ["a/include/x/h.cuh", "b/include/x/h.cuh", "b/other/h.cuh", "target/x/h.cuh"] {
            let path = root.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        }
        let index = HeaderIndex::new(root.path());
        let source = root.path().join("b/src/k.cu");
        assert_eq!(index.include_folder("x/h.cuh", &source), Some(root.path().join("b/include")));
        assert_eq!(index.include_folder("y/h.cuh", &source), None);
        let found = rescue(&[error("x/h.cuh: No such file or directory")], &source, &index, &[]);
        assert!(matches!(found, Some(Rescue::Flags { note, .. }) if note.contains("`b/include`")));
    }

    #[test]
    fn what_was_tried_is_not_tried_again() {
        let index = HeaderIndex::new(Path::new("/nonexistent"));
        let message = [error("… '--expt-relaxed-constexpr' can be used to allow this")];
        assert!(rescue(&message, Path::new("/k.cu"), &index, &[]).is_some());
        assert_eq!(rescue(&message, Path::new("/k.cu"), &index, &["--expt-relaxed-constexpr".into()]), None);
        assert_eq!(
            rescue(&[error("curand_kernel.h: No such file or directory")], Path::new("/k.cu"), &index, &[]),
            Some(Rescue::Library(Library::Curand))
        );
    }

    #[test]
    fn architectures_are_raised() {
        let found = required_architecture("Feature '.bf16' requires .target sm_90 or higher");
        assert!(matches!(found, Some(Rescue::Architecture { architecture, .. }) if architecture == "sm_90"));
        assert_eq!(required_architecture("Instruction 'x' not supported on .target 'sm_80'"), None);
    }
}
