//! Files that a compiler looks for, and that are not there: one that appears is found before, or instead of, those that
//! were read. So each place where a name was sought is an input, as those that were read are.
//!
//! Conditions around a directive are not evaluated, so there may be more places than the compiler looked at.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use cuda_syntax::identifiers::{identifiers, occurrences};
use lmem_base::places::{self, repository_of};
use lmem_base::source::normalize;
use lmem_unit::{TranslationUnit, UnitCode};
use walkdir::{DirEntry, WalkDir};

use super::environment;
use crate::compile::include_lines;

/// Limit on the size of a file that is searched for directives; larger ones are no source code.
const MAX_BYTES: u64 = 16 << 20;

/// Limit on folders that are inputs because the name of a header is made by macros.
const MAX_FOLDERS: usize = 256;

/// What asks for a file, and whether it is a directive.
const ASKING: [(&str, bool); 7] = [
    ("include", true),
    ("include_next", true),
    ("import", true),
    ("embed", true),
    ("__has_include", false),
    ("__has_include_next", false),
    ("__has_embed", false),
];

/// The header that nvcc itself includes before a file, as `-include` does: the folder that it is started in comes first.
const OF_NVCC: &str = "cuda_runtime.h";

/// What stands for the time at which a file was changed.
const OWN_TIME: &str = "__TIMESTAMP__";

/// What stands for the time of a compilation. Host compilers are given one for all; NVRTC knows the real one alone.
const TIMES: [&str; 2] = ["__DATE__", "__TIME__"];

/// Names of files that a text asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// With quotation marks: sought beside the file first.
    quoted: BTreeSet<String>,
    /// With angle brackets.
    angled: BTreeSet<String>,
    /// Macros that stand in the place of a name; empty text for what is no macro.
    operands: BTreeSet<String>,
    /// Macros that are a name, and macros that are something else.
    literal_macros: BTreeSet<String>,
    other_macros: BTreeSet<String>,
    /// The text may depend on the path that its file has.
    has_own_path: bool,
    /// It may depend on the time at which its file was changed.
    has_own_time: bool,
    /// It may depend on the time of the compilation.
    has_time: bool,
}

/// What the headers of a run ask for, by path: a header of a hundred units is read once. Its content is that of the run's hashes, which
/// are made once too.
#[derive(Default)]
pub struct Headers(Mutex<HashMap<PathBuf, Arc<Names>>>);

impl Headers {
    /// `None` if a file cannot be read.
    fn names(&self, path: &Path) -> Option<Arc<Names>> {
        if let Some(known) = self.0.lock().ok()?.get(path) {
            return Some(Arc::clone(known));
        }
        let bytes = places::read(path, MAX_BYTES).ok()?;
        let names = Arc::new(Names::of(&String::from_utf8_lossy(&bytes)));
        self.0.lock().ok()?.insert(path.to_path_buf(), Arc::clone(&names));
        Some(names)
    }
}

/// What a compilation depends on besides the files that it read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sought {
    /// Files that the unit's own text seeks, which may be missing, and folders in which any new file counts.
    pub by_text: Vec<PathBuf>,
    /// The same of what the headers seek.
    pub by_headers: Vec<PathBuf>,
    /// Folders in which headers are sought that the toolkit's and the system's headers include.
    pub folders: Vec<PathBuf>,
    /// The result may depend on the path of the workspace.
    pub is_placed: bool,
}

impl Sought {
    /// What is sought for a unit whose inputs are some normalized paths, in order; `None` if it cannot be told. What is no
    /// file among them was not read.
    pub fn of(
        unit: &TranslationUnit,
        inputs: &[PathBuf],
        toolkit: &[PathBuf],
        root: &Path,
        headers: &Headers,
    ) -> Option<Self> {
        let (own, arguments): ((PathBuf, &str), Vec<String>) = match &unit.code {
            UnitCode::CudaFile { file, flags } => {
                let arguments = [flags.all_arguments().to_vec(), environment::seeking(flags.origin)].concat();
                ((folder_of(&file.path, &unit.base), file.text()), arguments)
            }
            UnitCode::CudaText { text, options } => ((unit.base.clone(), text.as_str()), options.arguments.clone()),
            UnitCode::Ptx { .. } | UnitCode::Machine(_) => return Some(Self::default()),
        };
        let named = include_folders(&unit.base, &arguments);
        // `link/..` is the folder around what the link leads to, which may change.
        let crossing: Vec<&PathBuf> = named.iter().filter(|folder| crosses(folder)).collect();
        let leaves = named.iter().any(|folder| folder.starts_with(root) && !normalize(folder).starts_with(root));
        let mut folders: Vec<PathBuf> = named.iter().map(|folder| normalize(folder)).collect();
        // A workspace may lie below `/usr/src`, and a toolkit in a workspace.
        let is_system = |path: &Path| {
            toolkit.iter().any(|folder| path.starts_with(folder))
                || (path.starts_with("/usr") && !path.starts_with(root))
        };
        let read: Vec<&PathBuf> = inputs.iter().filter(|path| path.is_file()).collect();
        let is_read = |path: &PathBuf| read.binary_search(&path).is_ok();
        let mut texts = vec![(own.0, Arc::new(Names::of(own.1)))];
        for path in read.iter().filter(|path| !is_system(path)) {
            texts.push((folder_of(path, &unit.base), headers.names(path)?));
        }
        let mut forced = Names::forced(&arguments);
        if matches!(unit.code, UnitCode::CudaFile { .. }) {
            forced.quoted.insert(OF_NVCC.to_string());
        }
        texts.push((unit.base.clone(), Arc::new(forced)));
        // Folders that were added to the command line to make the unit compile are known by what was found in them.
        let names: HashSet<&Path> =
            texts.iter().flat_map(|(_, names)| names.quoted.iter().chain(&names.angled)).map(Path::new).collect();
        folders.extend(read.iter().filter(|path| !is_system(path)).flat_map(|path| before(path, &names)));
        folders.sort();
        folders.dedup();
        folders.retain(|folder| !is_system(folder));
        let mut by_text = BTreeSet::new();
        let mut by_headers = BTreeSet::new();
        for (index, (beside, names)) in texts.iter().enumerate() {
            let paths = if index == 0 { &mut by_text } else { &mut by_headers };
            let quoted = names.quoted.iter().map(|name| (name, true));
            for (name, is_quoted) in quoted.chain(names.angled.iter().map(|name| (name, false))) {
                paths.extend(crossing.iter().map(|folder| folder.join(name)));
                // `a/../b.h` is found only where `a` is, and elsewhere if that is a link.
                if crosses(Path::new(name)) {
                    let nearest = is_quoted.then(|| beside.join(name));
                    paths.extend(nearest.into_iter().chain(folders.iter().map(|folder| folder.join(name))));
                }
                let nearest = is_quoted.then(|| normalize(&beside.join(name)));
                if nearest.as_ref().is_some_and(is_read) {
                    continue;
                }
                let others = folders.iter().map(|folder| normalize(&folder.join(name)));
                paths.extend(nearest.into_iter().chain(others).filter(|path| !is_read(path)));
            }
        }
        let is_made = are_made(texts.iter().map(|(_, names)| &**names));
        // The time of a file is part of its hash where its own text names it in one piece.
        let is_elsewhere = texts.iter().skip(1).any(|(_, names)| names.has_own_time)
            || arguments.iter().any(|argument| argument.contains(OWN_TIME))
            || texts[0].1.has_own_time && !own.1.contains(OWN_TIME);
        match &unit.code {
            UnitCode::CudaFile { .. } if is_elsewhere => return None,
            UnitCode::CudaFile { file, .. } if texts[0].1.has_own_time => _ = by_text.insert(normalize(&file.path)),
            // NVRTC lists no files, and those that it reads are found by their names.
            UnitCode::CudaText { .. } if is_made || texts.iter().any(|(_, names)| names.has_time) => return None,
            UnitCode::CudaText { .. } if texts[0].1.has_own_time => return None,
            _ => {}
        }
        if is_made {
            let beside = texts.iter().map(|(folder, _)| folder).chain(&folders);
            by_text.extend(all_below(beside.filter(|folder| folder.starts_with(root)))?);
        }
        by_headers.retain(|path| !by_text.contains(path));
        let names = || texts.iter().flat_map(|(_, names)| names.quoted.iter().chain(&names.angled)).map(Path::new);
        // A revision that names a file of the user's tree by its whole path is refused where both differ, which no entry knows.
        if names().any(|name| is_of_other_tree(name, root) && !is_system(name)) {
            return None;
        }
        let from: BTreeSet<&PathBuf> = texts.iter().map(|(beside, _)| beside).chain(&folders).collect();
        let leads = |name: &Path| name.is_absolute() || name.components().any(|part| part == Component::ParentDir);
        let is_bound = |name: &Path| leads(name) && from.iter().any(|folder| is_bound_to(root, folder, name));
        let is_placed = leaves || texts.iter().any(|(_, names)| names.has_own_path) || names().any(is_bound);
        folders.retain(|folder| folder.starts_with(root));
        let (by_text, by_headers) = (by_text.into_iter().collect(), by_headers.into_iter().collect());
        Some(Self { by_text, by_headers, folders, is_placed })
    }

    /// All paths.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.by_text.iter().chain(&self.by_headers)
    }
}

/// Whether a whole path leads into another repository than the workspace's.
fn is_of_other_tree(path: &Path, root: &Path) -> bool {
    let is_of_other = |path: PathBuf| !path.starts_with(root) && path.parent().and_then(repository_of).is_some();
    path.is_absolute() && is_of_other(normalize(path))
}

/// Whether what a name leads to from a folder depends on where the workspace lies: `../name/a.h`, or its whole path.
fn is_bound_to(root: &Path, folder: &Path, name: &Path) -> bool {
    match name.is_absolute() {
        true => normalize(name).starts_with(root),
        false => folder.starts_with(root) && !normalize(&folder.join(name)).starts_with(root),
    }
}

/// Whether a path goes into a folder and out of it again.
fn crosses(path: &Path) -> bool {
    let mut parts = path.components().skip_while(|part| matches!(part, Component::ParentDir));
    parts.any(|part| matches!(part, Component::ParentDir))
}

/// Whether macros make a name, so that any file may be meant.
fn are_made<'a>(all: impl Iterator<Item = &'a Names> + Clone) -> bool {
    let literal: HashSet<&String> = all.clone().flat_map(|names| &names.literal_macros).collect();
    let other: HashSet<&String> = all.clone().flat_map(|names| &names.other_macros).collect();
    let mut operands = all.flat_map(|names| &names.operands);
    operands.any(|name| !literal.contains(name) || other.contains(name))
}

/// The folder of a file, or where relative names of a unit start.
fn folder_of(path: &Path, base: &Path) -> PathBuf {
    path.parent().map_or_else(|| base.to_path_buf(), normalize)
}

/// The folders in which one of some names leads to a path.
fn before(path: &Path, names: &HashSet<&Path>) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1);
    let leads = |folder: &&Path| path.strip_prefix(folder).is_ok_and(|name| names.contains(name));
    folders.filter(leads).map(Path::to_path_buf).collect()
}

/// Some folders and all below them; `None` if there are too many.
fn all_below<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Option<BTreeSet<PathBuf>> {
    let mut all = BTreeSet::new();
    for folder in folders.collect::<BTreeSet<_>>() {
        let is_sought = |entry: &DirEntry| entry.file_type().is_dir() && (entry.depth() == 0 || !is_output(entry));
        for entry in WalkDir::new(folder).into_iter().filter_entry(is_sought).flatten() {
            all.insert(entry.into_path());
            if all.len() > MAX_FOLDERS {
                return None;
            }
        }
    }
    Some(all)
}

/// Whether nobody keeps headers in a folder: hidden ones, and those that programs mark as theirs.
fn is_output(folder: &DirEntry) -> bool {
    folder.file_name().to_string_lossy().starts_with('.') || folder.path().join("CACHEDIR.TAG").is_file()
}

/// The folders that the arguments of nvcc or NVRTC name for headers, as they are named. What may be one counts as one.
fn include_folders(base: &Path, arguments: &[String]) -> Vec<PathBuf> {
    const OPTIONS: [&str; 9] = [
        "--include-path=",
        "-include-path=",
        "--system-include=",
        "-isystem=",
        "-I=",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-I",
    ];
    // Several options for the host compiler stand in one argument.
    let words = arguments.iter().flat_map(|argument| argument.split(','));
    let folders = words.filter_map(|word| {
        let word =
            ["-Xcompiler=", "--compiler-options="].iter().find_map(|name| word.strip_prefix(name)).unwrap_or(word);
        let folder =
            OPTIONS.iter().find_map(|option| word.strip_prefix(option)).or((!word.starts_with('-')).then_some(word));
        folder.filter(|folder| !folder.is_empty())
    });
    folders.map(|folder| base.join(folder)).collect()
}

impl Names {
    /// The names in the directives of a text, and in definitions that directives may use.
    pub fn of(text: &str) -> Self {
        let mut names = Self::default();
        let joined = if text.contains("\\\n") || text.contains("\\\r\n") {
            text.replace("\\\r\n", "").replace("\\\n", "")
        } else {
            text.to_string()
        };
        for line in joined.lines().filter(|line| include_lines::may_name_files(line)) {
            names.add(line);
        }
        names.has_own_path =
            ["__FILE__", "__BASE_FILE__", "__builtin_FILE", "source_location"].iter().any(|word| joined.contains(word));
        names.has_own_time = joined.contains(OWN_TIME);
        names.has_time = TIMES.iter().any(|word| joined.contains(word));
        names
    }

    /// The names in options that define macros or include a file.
    fn forced(arguments: &[String]) -> Self {
        let mut names = Self::default();
        for argument in arguments {
            names.add_literals(argument);
            // `-DH="a.h"` is what `#define H "a.h"` is.
            if let Some(macro_text) = argument.strip_prefix("-D") {
                names.add_macro(&format!("define {}", macro_text.replacen('=', " ", 1)));
            }
        }
        let values = arguments.iter().zip(arguments.iter().skip(1));
        let is_forced = |option: &str| matches!(option, "-include" | "--pre-include" | "-pre-include");
        names.quoted.extend(values.filter(|(option, _)| is_forced(option)).map(|(_, value)| value.clone()));
        let joined = arguments.iter().filter_map(|argument| {
            ["-include=", "--pre-include="].iter().find_map(|option| argument.strip_prefix(option))
        });
        names.quoted.extend(joined.map(str::to_string));
        names
    }

    fn add(&mut self, line: &str) {
        self.add_literals(line);
        self.add_macro(line);
        for (word, is_directive) in ASKING {
            for at in occurrences(line, word) {
                let operand = line[at + word.len()..].trim_start_matches([' ', '\t', '(']);
                let before = line[..at].trim_end();
                let asks = !is_directive || ["#", "%:", "*/"].iter().any(|mark| before.ends_with(mark));
                if asks && operand.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '/') {
                    let name = identifiers(operand).next().filter(|name| operand.starts_with(name));
                    self.operands.insert(name.unwrap_or_default().to_string());
                }
            }
        }
    }

    /// `#define H "x.h"`, and any other definition.
    fn add_macro(&mut self, line: &str) {
        for at in occurrences(line, "define") {
            let rest = line[at + "define".len()..].trim_start();
            let Some(name) = identifiers(rest).next().filter(|name| rest.starts_with(name)) else { continue };
            let body = rest[name.len()..].trim();
            let is_literal = (body.starts_with('"') && body.len() > 1 && body[1..].find('"') == Some(body.len() - 2))
                || (body.starts_with('<') && body.find('>') == Some(body.len() - 1));
            let macros = if is_literal { &mut self.literal_macros } else { &mut self.other_macros };
            macros.insert(name.to_string());
        }
    }

    fn add_literals(&mut self, line: &str) {
        self.quoted.extend(include_lines::quoted(line).map(str::to_string));
        self.angled.extend(include_lines::angled(line).map(str::to_string));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> (Vec<String>, Vec<String>, bool) {
        let names = Names::of(text);
        let are_made = are_made(std::iter::once(&names));
        (names.quoted.into_iter().collect(), names.angled.into_iter().collect(), are_made)
    }

    #[test]
    fn directives_name_files() {
        let one = |text: &str| names(text);
        assert_eq!(one("#include \"a.cuh\"\n"), (vec!["a.cuh".to_string()], vec![], false));
        assert_eq!(one(" # /* why */ include <b/c.cuh>\n"), (vec![], vec!["b/c.cuh".to_string()], false));
        assert_eq!(one("#if defined A && __has_include(\"x.h\")\n").0, ["x.h"]);
        assert_eq!(one("#inc\\\nlude \"a.cuh\"\n").0, ["a.cuh"]);
        assert_eq!(one("%:include \"a.cuh\"\n").0, ["a.cuh"]);
        assert_eq!(one("#/*\n*/include \"a.cuh\"\n").0, ["a.cuh"]);
        assert_eq!(one("int include = 3; // include the file\nauto s = \"a.cuh\";\n"), (vec![], vec![], false));
    }

    #[test]
    fn macros_may_make_names() {
        assert_eq!(names("#define H \"x.h\"\n#include H\n"), (vec!["x.h".to_string()], vec![], false));
        assert!(names("#define H \"x.h\"\n#define H STRING(y)\n#include H\n").2);
        assert!(names("#define STRING(x) #x\n#include STRING(a.cuh)\n").2);
        assert!(names("#include /* why */ <a.cuh>\n").2);
        assert!(names("#define HAS(x) __has_include(x)\n").2);
        assert!(names("#/*\n*/include STRING(a.cuh)\n").2);
        assert!(!names("#include <a.cuh> // include more\n").2);
        assert!(Names::of("auto where = std::source_location::current();").has_own_path);
        assert!(
            Names::of("auto when = __TIMESTAMP__;").has_own_time && Names::of("auto when = __TI\\\nME__;").has_time
        );
        let forced = Names::forced(&["-include", "a.h", "-DH=\"b.h\"", "--pre-include=c.h"].map(str::to_string));
        assert_eq!(forced.quoted.into_iter().collect::<Vec<_>>(), ["a.h", "b.h", "c.h"]);
    }

    #[test]
    fn a_header_is_read_once_in_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cuh");
        std::fs::write(&path, "#include \"b.cuh\"\n").unwrap();
        let headers = Headers::default();
        let first = headers.names(&path).unwrap();
        assert_eq!(first.quoted.iter().collect::<Vec<_>>(), ["b.cuh"]);
        assert!(Arc::ptr_eq(&first, &headers.names(&path).unwrap()));
        assert!(headers.names(&folder.path().join("none.cuh")).is_none());
    }

    #[test]
    fn folders_are_named_in_many_ways() {
        let arguments = ["-Ia", "-I", "b", "-isystem=c", "-Xcompiler=-iquote,d", "--include-path=/e", "-DX"];
        let found = include_folders(Path::new("/w"), &arguments.map(str::to_string));
        let found: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(found, ["/w/a", "/w/b", "/w/c", "/w/d", "/e"]);
    }

    #[test]
    fn a_folder_is_what_a_name_leads_from() {
        let of = |path: &str, name: &str| before(Path::new(path), &HashSet::from([Path::new(name)]));
        assert_eq!(of("/w/a/b/c.h", "b/c.h"), [PathBuf::from("/w/a")]);
        assert_eq!(of("/w/a/bb/c.h", "b/c.h"), Vec::<PathBuf>::new());
        assert_eq!(of("/w/c.h", "../c.h"), Vec::<PathBuf>::new());
    }
}
