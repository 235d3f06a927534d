//! What projects keep: settings, commands of builds, baselines; and what this tool keeps itself.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cargo_lmem::cache::{Cache, Key};
use cargo_lmem::gate::Baseline;
use lmem_base::diagnostic::Diagnostic;
use lmem_base::source::SourceFile;
use lmem_lints::known_names;
use lmem_project::config::{PackageConfig, Table, nvcc_flags};
use lmem_project::discover::{DiscoveredFile, Workspace};
use lmem_unit::Artifacts;

thread_local! {
    /// One folder for all attempts of a thread: the readers of files are not what is tried.
    static FOLDER: OnceCell<Option<(tempfile::TempDir, PathBuf)>> = const { OnceCell::new() };
}

/// Gives a folder that is there until the thread ends.
pub fn with_folder(attempt: impl FnOnce(&Path)) {
    let new = || {
        let folder = tempfile::tempdir().ok()?;
        let root = std::fs::canonicalize(folder.path()).ok()?;
        Some((folder, root))
    };
    FOLDER.with(|folder| {
        if let Some((_, root)) = folder.get_or_init(new) {
            attempt(root);
        }
    });
}

/// A database of commands, beside a response file that may be one of its words.
pub fn commands(bytes: &[u8]) {
    with_folder(|root| {
        let build = root.join("build");
        let is_there = std::fs::create_dir_all(&build).is_ok()
            && std::fs::write(root.join("a.cu"), "").is_ok()
            && std::fs::write(build.join("flags.rsp"), "-DX=1 @flags.rsp").is_ok()
            && std::fs::write(build.join("compile_commands.json"), bytes).is_ok();
        if !is_there {
            return;
        }
        let file = DiscoveredFile { path: root.join("a.cu"), package: None, config: Arc::default(), explicit: true };
        let (files, build_folders) = (vec![file], vec![build]);
        let workspace = Workspace { root: root.to_path_buf(), files, build_folders, ..Workspace::default() };
        drop(lmem_project::build_flags::known(&workspace, None));
    });
}

/// `lmem.toml`.
pub fn settings(bytes: &[u8]) {
    with_folder(|root| {
        let path = root.join("lmem.toml");
        if std::fs::write(&path, bytes).is_ok()
            && let Ok(config) = PackageConfig::read_file(&path)
        {
            drop((config.validate_lints(&known_names()), config.is_excluded(&root.join("a.cu"))));
        }
    });
}

/// What `cargo metadata` gives of `Cargo.toml`, as JSON.
pub fn metadata(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(value) = serde_json::from_slice(bytes) {
        for table in [Table::Package, Table::Workspace] {
            if let Ok(config) = PackageConfig::read(Path::new("/nowhere/Cargo.toml"), table, &value) {
                drop(config.validate_lints(&known_names()));
            }
        }
    }
    let words: Vec<String> = text.split([' ', ',', '"']).map(str::to_string).collect();
    drop(nvcc_flags::allowed(&words, Path::new("/nowhere")));
    drop(nvcc_flags::check_defines(&words));
}

/// An entry of the cache, once as it lies on the disk and once with the check that belongs to it: then what is read must
/// stand any content.
pub fn cache_entry(bytes: &[u8]) {
    with_folder(|root| {
        let (store, key) = (cargo_lmem::cache::Store::new(root.join("store")), Key::of(["entry"]));
        let path = store.path(&key);
        if store.write(&key, bytes).is_err() {
            return;
        }
        let cache = Cache::new(root.join("store"), root);
        assert_eq!(store.read(&key).as_deref(), Some(bytes), "what was written is read");
        let _: Option<Artifacts> = cache.get_value(&key);
        let _: Option<lmem_extract::RustCode> = cache.get_value(&key);
        let file = SourceFile::from_text("a.cu", "__global__ void k() {}\n");
        let _ = lmem_base::stored::read::<Vec<Diagnostic>>(bytes, vec![file]);
        if std::fs::write(&path, bytes).is_ok() {
            assert_eq!(store.read(&key), None, "what has no check is not believed");
        }
    });
}

/// A baseline, of which comparing makes use.
pub fn baseline(bytes: &[u8]) {
    with_folder(|root| {
        let path = root.join("lmem-baseline.json");
        if std::fs::write(&path, bytes).is_ok() {
            drop(Baseline::read(&path));
        }
    });
}

/// What the library before NVRTC writes down for `cargo lmem run`.
pub fn nvrtc_record(bytes: &[u8]) {
    drop(cargo_lmem::run::Record::parse(bytes));
}
