//! Settings: `[workspace.metadata.lmem]` and `[package.metadata.lmem]` in `Cargo.toml`, or a `lmem.toml` with the same
//! keys at the root of a project without Cargo.
//!
//! The nearest table that sets a key wins: first a `[[package.metadata.lmem.file]]`, then the package, then the
//! workspace. Lint levels are the exception: they are merged lint by lint.

pub mod arch;
mod budget;
pub mod glob;
pub mod nvcc_flags;
pub mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::GlobMatcher;
use serde::de::DeserializeOwned;
use serde_json::Value;

use lmem_base::budget::BudgetError;
use lmem_base::diagnostic::FlagOrigin;
use lmem_base::gpu::Arch;
use lmem_base::level::Level;
use lmem_base::places::{self, Places};
use lmem_base::words::nearest;
use lmem_unit::NvccFlags;

use arch::ArchList;
use glob::GlobError;

pub use budget::BudgetRule;
pub use nvcc_flags::{FlagError, is_safe_path};

/// The settings file at the root of a project without Cargo.
pub const FILE_NAME: &str = "lmem.toml";

/// Larger files are rejected.
const MAX_BYTES: u64 = 1 << 20;

/// Limit on the patterns of `exclude`, and on the tables of an array: each is held against every file.
const MAX_ENTRIES: usize = 1000;

/// Default language standard of a `.cu` file; also nvcc's default in 12.x and 13.x.
const DEFAULT_STANDARD: &str = "-std=c++17";

/// The settings of one package, merged with those of its workspace.
#[derive(Debug, Clone, Default)]
pub struct PackageConfig {
    /// Target architectures; empty if not set.
    pub arch: Vec<Arch>,
    /// A version such as `13.5`, or `managed`.
    pub toolkit: Option<String>,
    pub lints: BTreeMap<String, Level>,
    /// The baseline: the file of known findings.
    pub baseline: Option<PathBuf>,
    /// Resource limits for kernels, by name pattern.
    pub budgets: Vec<BudgetRule>,
    compilation: Compilation,
    exclude: Option<Patterns>,
    files: Vec<FileRule>,
    /// Where the tables were read, for messages.
    pub manifests: Vec<PathBuf>,
}

/// Keys that both package tables and file tables have.
#[derive(Debug, Clone, Default)]
struct Compilation {
    nvcc_flags: Option<Vec<String>>,
    include_dirs: Option<Vec<PathBuf>>,
    defines: Option<Vec<String>>,
}

/// One `[[package.metadata.lmem.file]]` table.
#[derive(Debug, Clone)]
struct FileRule {
    path: Patterns,
    arch: Vec<Arch>,
    lints: BTreeMap<String, Level>,
    compilation: Compilation,
}

/// Globs, and the folder that they are relative to.
#[derive(Debug, Clone)]
struct Patterns {
    folder: PathBuf,
    globs: Vec<GlobMatcher>,
}

/// An invalid key of a manifest.
#[derive(Debug, thiserror::Error)]
#[error("{}`{}`: {problem}", key_in(.key), .manifest.display())]
pub struct ConfigError {
    pub manifest: PathBuf,
    /// The full key: `package.metadata.lmem.arch`.
    pub key: String,
    pub problem: ConfigProblem,
}

/// What is wrong with a key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigProblem {
    #[error("there is no such key{}; known are {}", did_you_mean(.near), .known.join(", "))]
    UnknownKey { near: Option<&'static str>, known: &'static [&'static str] },
    #[error("there is no such lint{}", did_you_mean(.near))]
    UnknownLint { near: Option<&'static str> },
    #[error("{0}")]
    Value(#[from] serde_json::Error),
    #[error("{0}")]
    Toml(String),
    #[error("this must be a table")]
    NoTable,
    #[error("the key `path` is missing, which says for which files the table is")]
    NoPath,
    #[error("the key `kernel` is missing, which says for which kernels the budget is")]
    NoKernel,
    #[error("it limits nothing: add `stack`, `spills`, `registers`, `shared` or `occupancy`")]
    NoLimit,
    #[error("{0}")]
    Budget(#[from] BudgetError),
    #[error("{0}")]
    Flag(#[from] FlagError),
    #[error("{0}")]
    Glob(#[from] GlobError),
    #[error(
        "there are {number}, and more than {MAX_ENTRIES} are not read: `**` in a pattern stands for all files of a folder"
    )]
    TooMany { number: usize },
    #[error("`{0}` is neither a version such as `13.5` nor `managed`")]
    Toolkit(String),
    #[error(
        "`{0}` is a path: a setting in the workspace may not name programs, because checking must run nothing that \
         comes with a pull request; use `--toolkit {0}`, or set `CUDA_HOME`"
    )]
    ToolkitPath(String),
    #[error("`{0}` holds a character that a shell would act on, and nvcc starts its tools through one")]
    Folder(String),
}

/// The key as the beginning of a message; empty without a key.
fn key_in(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("`{key}` in ") }
}

fn did_you_mean(near: &Option<&'static str>) -> String {
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

/// Which of the two tables is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Workspace,
    Package,
}

impl PackageConfig {
    /// Reads the key `lmem` of a manifest's metadata; without it, nothing is set.
    ///
    /// # Errors
    /// A key is unknown, or its value is invalid.
    pub fn read(manifest: &Path, table: Table, metadata: &Value) -> Result<Self, ConfigError> {
        let prefix = match table {
            Table::Workspace => "workspace.metadata.lmem",
            Table::Package => "package.metadata.lmem",
        };
        let folder = manifest.parent().unwrap_or(Path::new(""));
        match metadata.get("lmem") {
            Some(value) => Reader { manifest, folder, prefix: prefix.to_string() }.package(value),
            None => Ok(Self::default()),
        }
    }

    /// Reads the `lmem.toml` of a project without Cargo.
    ///
    /// # Errors
    /// The file cannot be read, a key is unknown, or its value is invalid.
    pub fn read_file(path: &Path) -> Result<Self, ConfigError> {
        let broken = |text: String| ConfigError {
            manifest: path.to_path_buf(),
            key: String::new(),
            problem: ConfigProblem::Toml(text),
        };
        // Errors show lines of the file, and a link may lead to any.
        let folder = path.parent().unwrap_or(Path::new(""));
        if path.exists() && !Places::new([places::tree_of(folder)]).hold(path) {
            return Err(broken("it leads out of the workspace".to_string()));
        }
        let bytes = places::read(path, MAX_BYTES).map_err(|error| broken(format!("it cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| broken("it is not text".to_string()))?;
        let value: Value = toml::from_str(&text).map_err(|error| broken(error.to_string().trim_end().to_string()))?;
        Reader { manifest: path, folder, prefix: String::new() }.package(&value)
    }

    /// Merges settings: these take precedence over those of the workspace.
    pub fn over(self, workspace: &Self) -> Self {
        let mut lints = workspace.lints.clone();
        lints.extend(self.lints);
        Self {
            arch: if self.arch.is_empty() { workspace.arch.clone() } else { self.arch },
            toolkit: self.toolkit.or_else(|| workspace.toolkit.clone()),
            lints,
            baseline: self.baseline.or_else(|| workspace.baseline.clone()),
            budgets: if self.budgets.is_empty() { workspace.budgets.clone() } else { self.budgets },
            compilation: self.compilation.over(&workspace.compilation),
            exclude: self.exclude.or_else(|| workspace.exclude.clone()),
            files: if self.files.is_empty() { workspace.files.clone() } else { self.files },
            manifests: workspace.manifests.iter().cloned().chain(self.manifests).collect(),
        }
    }

    /// Whether `exclude` matches the path or a folder above it.
    pub fn is_excluded(&self, path: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|exclude| exclude.matches(path))
    }

    /// All paths named by `exclude` and by the `path` of file tables.
    pub fn named_paths(&self) -> impl Iterator<Item = NamedPaths<'_>> {
        let excluded = self.exclude.iter().flat_map(|patterns| patterns.named("exclude"));
        let files = self.files.iter().flat_map(|rule| rule.path.named("file.path"));
        excluded.chain(files)
    }

    /// Folders that `include-dirs` adds for a file.
    pub fn include_dirs(&self, file: &Path) -> Vec<PathBuf> {
        self.compilation_of(file).include_dirs.unwrap_or_default()
    }

    /// Architectures set for a file; empty if not set.
    pub fn arch_for(&self, file: &Path) -> &[Arch] {
        self.rules_of(file).map(|rule| rule.arch.as_slice()).find(|arch| !arch.is_empty()).unwrap_or(&self.arch)
    }

    /// Lint levels that file tables set for a file, the nearest last.
    pub fn lints_of(&self, file: &Path) -> impl Iterator<Item = (&String, Level)> {
        let rules = self.files.iter().filter(|rule| rule.path.matches(file));
        rules.flat_map(|rule| rule.lints.iter().map(|(name, level)| (name, *level)))
    }

    /// Whether any file table sets lint levels.
    pub fn has_lints_of_files(&self) -> bool {
        self.files.iter().any(|rule| !rule.lints.is_empty())
    }

    /// Checks the names of lints, which this crate does not know.
    ///
    /// # Errors
    /// A name is not among `known`.
    pub fn validate_lints(&self, known: &[&'static str]) -> Result<(), ConfigError> {
        let mut names = self.lints.keys().chain(self.files.iter().flat_map(|rule| rule.lints.keys()));
        let Some(name) = names.find(|name| *name != "warnings" && !known.contains(&name.as_str())) else {
            return Ok(());
        };
        Err(ConfigError {
            manifest: self.manifests.last().cloned().unwrap_or_default(),
            key: format!("lints.{name}"),
            problem: ConfigProblem::UnknownLint { near: nearest(name, known.iter().copied()) },
        })
    }

    fn rules_of<'a>(&'a self, file: &Path) -> impl Iterator<Item = &'a FileRule> {
        // The last matching table wins, as the last flag does.
        self.files.iter().rev().filter(|rule| rule.path.matches(file))
    }

    fn compilation_of(&self, file: &Path) -> Compilation {
        let rules = self.rules_of(file).map(|rule| rule.compilation.clone());
        let nearest = rules.reduce(|nearer, farther| nearer.over(&farther)).unwrap_or_default();
        nearest.over(&self.compilation)
    }
}

/// The flags of a `.cu` file. `extra` are those of the command line; they come last, so they win.
pub fn flags_for(config: Option<&PackageConfig>, file: &Path, extra: &[String]) -> NvccFlags {
    let compilation = config.map(|config| config.compilation_of(file)).unwrap_or_default();
    let is_set = compilation.is_set() || !extra.is_empty();
    let mut arguments = compilation.nvcc_flags.unwrap_or_default();
    arguments.extend(compilation.defines.unwrap_or_default());
    for folder in compilation.include_dirs.unwrap_or_default() {
        arguments.extend(["-I".to_string(), folder.to_string_lossy().into_owned()]);
    }
    arguments.extend(extra.iter().cloned());
    let says_standard = |argument: &String| {
        let name = argument.split('=').next().unwrap_or(argument);
        name == "-std" || name == "--std"
    };
    if !arguments.iter().any(says_standard) {
        arguments.insert(0, DEFAULT_STANDARD.to_string());
    }
    NvccFlags::new(arguments, if is_set { FlagOrigin::Config } else { FlagOrigin::Assumed })
}

impl Compilation {
    fn over(self, farther: &Self) -> Self {
        Self {
            nvcc_flags: self.nvcc_flags.or_else(|| farther.nvcc_flags.clone()),
            include_dirs: self.include_dirs.or_else(|| farther.include_dirs.clone()),
            defines: self.defines.or_else(|| farther.defines.clone()),
        }
    }

    fn is_set(&self) -> bool {
        self.nvcc_flags.is_some() || self.include_dirs.is_some() || self.defines.is_some()
    }
}

impl Patterns {
    fn matches(&self, path: &Path) -> bool {
        self.globs.iter().any(|glob| matches_below(&self.folder, glob, path))
    }

    fn named(&self, key: &'static str) -> impl Iterator<Item = NamedPaths<'_>> {
        let named = move |glob| NamedPaths { key, folder: &self.folder, text: GlobMatcher::glob(glob).glob(), glob };
        self.globs.iter().map(named)
    }
}

/// Whether a glob, relative to a folder, matches a path or a folder above it.
fn matches_below(folder: &Path, glob: &GlobMatcher, path: &Path) -> bool {
    let Ok(relative) = path.strip_prefix(folder) else { return false };
    relative.ancestors().filter(|part| !part.as_os_str().is_empty()).any(|part| glob.is_match(part))
}

/// A setting that names paths.
pub struct NamedPaths<'a> {
    /// `exclude`, `file.path`
    pub key: &'static str,
    /// The folder of the manifest, which the path is relative to.
    pub folder: &'a Path,
    /// As written, without a leading `./` and a trailing `/`.
    pub text: &'a str,
    glob: &'a GlobMatcher,
}

impl NamedPaths<'_> {
    pub fn matches(&self, path: &Path) -> bool {
        matches_below(self.folder, self.glob, path)
    }
}

const PACKAGE_KEYS: &[&str] =
    &["arch", "toolkit", "lints", "baseline", "budget", "nvcc-flags", "include-dirs", "defines", "exclude", "file"];
const FILE_KEYS: &[&str] = &["path", "arch", "lints", "nvcc-flags", "include-dirs", "defines"];

/// Reads one table, and knows its name for messages.
struct Reader<'a> {
    manifest: &'a Path,
    folder: &'a Path,
    prefix: String,
}

impl Reader<'_> {
    fn package(&self, value: &Value) -> Result<PackageConfig, ConfigError> {
        let mut config = PackageConfig { manifests: vec![self.manifest.to_path_buf()], ..PackageConfig::default() };
        for (key, value) in self.table(value)? {
            match key.as_str() {
                "arch" => config.arch = self.value::<ArchList>(key, value)?.0,
                "toolkit" => config.toolkit = Some(self.toolkit(key, value)?),
                "lints" => config.lints = self.lints(key, value)?,
                "baseline" => config.baseline = Some(self.folder.join(self.value::<PathBuf>(key, value)?)),
                "budget" => config.budgets = self.below(key, value, Self::budget)?,
                "exclude" => config.exclude = Some(self.patterns(key, self.value(key, value)?)?),
                "file" => config.files = self.below(key, value, Self::file)?,
                _ => self.compilation_key(key, value, &mut config.compilation, PACKAGE_KEYS)?,
            }
        }
        Ok(config)
    }

    /// Reads the tables of an array, each with its own name for messages.
    fn below<T>(
        &self,
        key: &str,
        value: &Value,
        read: impl Fn(&Self, &Value) -> Result<T, ConfigError>,
    ) -> Result<Vec<T>, ConfigError> {
        let tables: Vec<Value> = self.value(key, value)?;
        self.few(key, tables.len())?;
        let prefix = if self.prefix.is_empty() { key.to_string() } else { format!("{}.{key}", self.prefix) };
        let reader = Self { prefix, ..*self };
        tables.iter().map(|table| read(&reader, table)).collect()
    }

    fn file(&self, value: &Value) -> Result<FileRule, ConfigError> {
        let mut path = None;
        let mut arch = Vec::new();
        let mut lints = BTreeMap::new();
        let mut compilation = Compilation::default();
        for (key, value) in self.table(value)? {
            match key.as_str() {
                "path" => path = Some(self.patterns(key, vec![self.value(key, value)?])?),
                "arch" => arch = self.value::<ArchList>(key, value)?.0,
                "lints" => lints = self.lints(key, value)?,
                _ => self.compilation_key(key, value, &mut compilation, FILE_KEYS)?,
            }
        }
        let path = path.ok_or_else(|| self.error(None, ConfigProblem::NoPath))?;
        Ok(FileRule { path, arch, lints, compilation })
    }

    fn compilation_key(
        &self,
        key: &str,
        value: &Value,
        compilation: &mut Compilation,
        known: &'static [&'static str],
    ) -> Result<(), ConfigError> {
        let list = || self.value::<Vec<String>>(key, value);
        let flags =
            |result: Result<Vec<String>, FlagError>| result.map_err(|error| self.error(Some(key), error.into()));
        match key {
            "nvcc-flags" => compilation.nvcc_flags = Some(flags(nvcc_flags::check(&list()?, self.folder))?),
            "defines" => compilation.defines = Some(flags(nvcc_flags::check_defines(&list()?))?),
            "include-dirs" => compilation.include_dirs = Some(self.folders(key, &list()?)?),
            _ => {
                let near = nearest(key, known.iter().copied());
                return Err(self.error(Some(key), ConfigProblem::UnknownKey { near, known }));
            }
        }
        Ok(())
    }

    fn folders(&self, key: &str, names: &[String]) -> Result<Vec<PathBuf>, ConfigError> {
        let folder = |name: &String| {
            let path = self.folder.join(name);
            // nvcc splits path arguments at commas.
            let usable = is_safe_path(&path) && !name.contains(',');
            usable.then_some(path).ok_or_else(|| self.error(Some(key), ConfigProblem::Folder(name.clone())))
        };
        names.iter().map(folder).collect()
    }

    fn patterns(&self, key: &str, patterns: Vec<String>) -> Result<Patterns, ConfigError> {
        self.few(key, patterns.len())?;
        let glob = |pattern: &String| {
            let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
            glob::path_matcher(pattern).map_err(|error| self.error(Some(key), error.into()))
        };
        let globs = patterns.iter().map(glob).collect::<Result<_, _>>()?;
        Ok(Patterns { folder: self.folder.to_path_buf(), globs })
    }

    fn few(&self, key: &str, number: usize) -> Result<(), ConfigError> {
        let problem = ConfigProblem::TooMany { number };
        if number > MAX_ENTRIES { Err(self.error(Some(key), problem)) } else { Ok(()) }
    }

    fn lints(&self, key: &str, value: &Value) -> Result<BTreeMap<String, Level>, ConfigError> {
        let table: BTreeMap<String, Value> = self.value(key, value)?;
        let level = |(name, value): (String, Value)| {
            let level = self.value(&format!("{key}.{name}"), &value)?;
            Ok((name.replace('-', "_"), level))
        };
        table.into_iter().map(level).collect()
    }

    fn toolkit(&self, key: &str, value: &Value) -> Result<String, ConfigError> {
        let text: String = self.value(key, value)?;
        let number = |part: &str| !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_version = text.split('.').count() <= 3 && text.split('.').all(number);
        if is_version || text == "managed" {
            return Ok(text);
        }
        let problem = match text.contains(['/', '\\', '~']) {
            true => ConfigProblem::ToolkitPath(text),
            false => ConfigProblem::Toolkit(text),
        };
        Err(self.error(Some(key), problem))
    }

    fn table<'v>(&self, value: &'v Value) -> Result<&'v serde_json::Map<String, Value>, ConfigError> {
        value.as_object().ok_or_else(|| self.error(None, ConfigProblem::NoTable))
    }

    fn value<T: DeserializeOwned>(&self, key: &str, value: &Value) -> Result<T, ConfigError> {
        T::deserialize(value).map_err(|error| self.error(Some(key), error.into()))
    }

    fn error(&self, key: Option<&str>, problem: ConfigProblem) -> ConfigError {
        let parts = [Some(self.prefix.as_str()), key].into_iter().flatten().filter(|part| !part.is_empty());
        let key = parts.collect::<Vec<_>>().join(".");
        ConfigError { manifest: self.manifest.to_path_buf(), key, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(lmem: Value) -> Result<PackageConfig, ConfigError> {
        PackageConfig::read(Path::new("/project/Cargo.toml"), Table::Package, &json!({ "lmem": lmem }))
    }

    fn message(lmem: Value) -> String {
        read(lmem).unwrap_err().to_string()
    }

    #[test]
    fn keys_are_read() {
        let config = read(json!({
            "arch": ["sm_80", "90a"], "toolkit": "13.5", "lints": { "dynamic_index": "deny", "register-spill": "allow" },
            "nvcc-flags": ["--use_fast_math"], "include-dirs": ["inc"], "defines": ["N=4"], "exclude": ["old/**", "third_party"],
            "file": [{ "path": "kernels/*.cu", "arch": "sm_75", "defines": ["M"] }],
        }))
        .unwrap();
        assert_eq!(config.lints["register_spill"], Level::Allow);
        assert!(config.is_excluded(Path::new("/project/third_party/x/y.cu")));
        assert!(!config.is_excluded(Path::new("/project/src/third_party.cu")));
        let special = Path::new("/project/kernels/a.cu");
        let flags = flags_for(Some(&config), special, &[]);
        assert_eq!(flags.arguments, ["-std=c++17", "--use_fast_math", "-DM", "-I", "/project/inc"]);
        assert_eq!(flags.origin, FlagOrigin::Config);
        assert_eq!(config.arch_for(special), ["75".parse().unwrap()]);
        assert_eq!(config.arch_for(Path::new("/project/b.cu")).len(), 2);
        let twice = read(json!({ "arch": ["sm_90", "sm_80", "90"] })).unwrap();
        assert_eq!(twice.arch, ["90".parse().unwrap(), "80".parse().unwrap()]);
    }

    #[test]
    fn nothing_set_is_assumed() {
        let flags = flags_for(None, Path::new("/a.cu"), &[]);
        assert_eq!(flags, NvccFlags::new(vec!["-std=c++17".into()], FlagOrigin::Assumed));
        let config = read(json!({ "nvcc-flags": ["--std=c++20"] })).unwrap();
        assert_eq!(flags_for(Some(&config), Path::new("/a.cu"), &[]).arguments, ["--std=c++20"]);
    }

    #[test]
    fn every_known_key_is_known() {
        let value = |key: &str| match key {
            "arch" | "toolkit" => json!("90"),
            "lints" => json!({}),
            "path" | "baseline" => json!("a"),
            _ => json!([]),
        };
        for key in PACKAGE_KEYS {
            read(json!({ *key: value(key) })).unwrap();
        }
        for key in FILE_KEYS {
            read(json!({ "file": [{ "path": "x", *key: value(key) }] })).unwrap();
        }
    }

    #[test]
    fn errors_name_key_manifest_and_remedy() {
        let text = message(json!({ "nvcc_flags": [] }));
        assert!(text.starts_with("`package.metadata.lmem.nvcc_flags` in `/project/Cargo.toml`: there is no such key: did you mean `nvcc-flags`?"), "{text}");
        assert!(
            message(json!({ "file": [{ "path": "a", "define": [] }] })).contains("`package.metadata.lmem.file.define`")
        );
        assert!(message(json!({ "file": [{ "arch": "90" }] })).contains("`path` is missing"));
        assert!(message(json!({ "arch": 90 })).contains("invalid type"));
        assert!(message(json!({ "arch": [] })).contains("expected an architecture"));
        assert!(message(json!({ "arch": "native" })).contains("`native` is not an architecture"));
        assert!(message(json!({ "toolkit": "./evil" })).contains("may not name programs"));
        assert!(message(json!({ "toolkit": "latest" })).contains("neither a version"));
        assert!(message(json!({ "lints": { "dynamic_index": "error" } })).contains("lints.dynamic_index"));
        assert!(message(json!({ "nvcc-flags": ["-ccbin=x"] })).contains("names a program"));
        assert!(message(json!({ "include-dirs": ["$(x)"] })).contains("shell"));
        assert!(message(json!("x")).contains("must be a table"));
        assert!(message(json!({ "exclude": ["[a"] })).contains("exclude"));
        let many = vec!["a"; MAX_ENTRIES + 1];
        assert!(message(json!({ "exclude": many })).contains("there are 1001, and more than 1000 are not read"));
        let files: Vec<Value> = many.iter().map(|path| json!({ "path": path })).collect();
        assert!(message(json!({ "file": files })).starts_with("`package.metadata.lmem.file` in"));
    }

    #[test]
    fn a_package_overrides_its_workspace_key_by_key() {
        let workspace = read(json!({ "arch": "80", "defines": ["A"], "lints": { "a": "deny", "b": "deny" } })).unwrap();
        let package = read(json!({ "defines": ["B"], "lints": { "a": "allow" } })).unwrap();
        let merged = package.over(&workspace);
        assert_eq!(merged.arch.len(), 1);
        assert_eq!((merged.lints["a"], merged.lints["b"]), (Level::Allow, Level::Deny));
        assert_eq!(flags_for(Some(&merged), Path::new("/a.cu"), &[]).arguments, ["-std=c++17", "-DB"]);
    }

    #[test]
    fn files_have_levels_of_their_own() {
        let files = json!([{ "path": "old/**", "lints": { "a": "allow", "b": "warn" } }, { "path": "old/x.cu", "lints": { "a": "deny" } }]);
        let config = read(json!({ "file": files })).unwrap();
        let of = |file: &str| {
            config.lints_of(Path::new(file)).map(|(name, level)| (name.clone(), level)).collect::<Vec<_>>()
        };
        assert_eq!(of("/project/old/y.cu"), [("a".to_string(), Level::Allow), ("b".to_string(), Level::Warn)]);
        assert_eq!(of("/project/old/x.cu").last(), Some(&("a".to_string(), Level::Deny)));
        assert!(of("/project/x.cu").is_empty() && config.has_lints_of_files());
        assert!(config.validate_lints(&["a"]).unwrap_err().to_string().contains("lints.b"));
    }

    #[test]
    fn unknown_lints_are_told_by_who_knows_them() {
        let config = read(json!({ "lints": { "dynamic_indx": "deny" } })).unwrap();
        let text = config.validate_lints(&["dynamic_index"]).unwrap_err().to_string();
        assert!(text.contains("did you mean `dynamic_index`"), "{text}");
        assert!(config.validate_lints(&["dynamic_indx"]).is_ok());
    }
}
