//! Compiles a unit with edits outside the workspace, which stays unchanged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::Field;
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::enclosing_function;
use lmem_base::diagnostic::Edit;
use lmem_base::edit;
use lmem_base::guardian::Folder;
use lmem_base::source::{SourceFile, Span, normalize};
use lmem_unit::{CompiledText, MappedText, NvccFlags, TranslationUnit, UnitCode};

/// A unit with edits of its files.
pub struct Overlay<'a> {
    pub unit: &'a TranslationUnit,
    /// The workspace's root: only files below it are edited.
    pub root: &'a Path,
    /// Files that the unit includes.
    pub dependencies: &'a [PathBuf],
    /// By kernel, the block size that its edit relies on.
    pub threads: BTreeMap<String, u32>,
    /// Where its files are edited.
    spans: Vec<Span>,
    /// Whether pointers of the edited kernels may lead to the same memory.
    pub may_alias: bool,
    is_original: bool,
    text: Edited,
}

/// New texts.
enum Edited {
    /// Files, by path.
    Files(BTreeMap<PathBuf, String>),
    /// The text of a kernel string.
    Text(String),
}

/// Whether an edit is within a kernel that does not say that its pointers lead to different memory. The word may be a
/// macro's name. What a function is passed is not known.
fn may_alias(edit: &Edit) -> bool {
    let text = edit.context.text();
    text.contains("__global__") && !text.to_ascii_lowercase().contains("restrict")
}

/// A unit to compile, and the folder with its files.
pub struct Mirror {
    pub unit: TranslationUnit,
    /// The counterpart of the workspace's root; `None` for a text that is compiled without files.
    pub root: Option<PathBuf>,
    _folder: Option<Folder>,
}

impl<'a> Overlay<'a> {
    /// `None` if the edits do not apply to the files of the unit.
    pub fn new(
        unit: &'a TranslationUnit,
        root: &'a Path,
        dependencies: &'a [PathBuf],
        edits: &[&Edit],
    ) -> Option<Self> {
        // The saved copy of a text from a running program is outside the root and is never edited.
        let is_of_program = matches!(&unit.code, UnitCode::CudaText { options, .. } if options.captured.is_some());
        let is_ours = |edit: &Edit| edit.span.file.path.starts_with(root) || is_of_program;
        if edits.iter().any(|edit| !edit.span.file.is_utf8() || !is_ours(edit)) {
            return None;
        }
        let text = match &unit.code {
            UnitCode::CudaFile { .. } => Edited::Files(edited_files(edits)?),
            // The headers of kernel strings are read from their original place.
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => Edited::Text(text.edited(edits)?),
            UnitCode::Machine(_) => return None,
        };
        let is_file = matches!(text, Edited::Files(_));
        let spans = edits.iter().filter(|_| is_file).map(|edit| edit.span.clone()).collect();
        let may_alias = edits.iter().all(|edit| may_alias(edit));
        let is_original = edits.is_empty();
        Some(Self { unit, root, dependencies, threads: BTreeMap::new(), spans, may_alias, is_original, text })
    }

    /// Whether there are no edits: nothing is to be compiled, and the unit's own kernels are run.
    pub fn is_original(&self) -> bool {
        self.is_original
    }

    /// Whether the edits change code that a host compiler reads. The files are parsed for that, so it is asked only of what is compiled:
    /// most results are known.
    pub fn is_seen_by_host(&self) -> bool {
        let mut trees: HashMap<&Path, SyntaxTree> = HashMap::new();
        self.spans.iter().any(|span| {
            let parsed = || SyntaxTree::new(MappedText::from_file(&span.file), CompiledText::Unknown);
            is_of_host(trees.entry(&span.file.path).or_insert_with(parsed), span.start)
        })
    }

    /// What distinguishes this overlay from others of the unit: file names relative to the root, and texts.
    pub fn texts(&self) -> Vec<(String, &str)> {
        match &self.text {
            Edited::Files(files) => files
                .iter()
                .map(|(path, text)| (lmem_base::source::display_path(path, self.root), text.as_str()))
                .collect(),
            Edited::Text(text) => vec![(String::new(), text.as_str())],
        }
    }

    /// Copies the unit's files to a temporary folder, with the same paths relative to the root.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn mirror(&self) -> std::io::Result<Mirror> {
        match (&self.text, &self.unit.code) {
            (Edited::Text(text), code) => Ok(Mirror { unit: self.with_text(text, code), root: None, _folder: None }),
            (Edited::Files(files), UnitCode::CudaFile { file, flags }) => self.mirror_files(files, file, flags),
            (Edited::Files(_), _) => Err(std::io::Error::other("a kernel string is no file")),
        }
    }

    fn with_text(&self, text: &str, code: &UnitCode) -> TranslationUnit {
        let mut mapped = MappedText::default();
        mapped.push_generated(text);
        let code = match code {
            UnitCode::CudaText { options, .. } => UnitCode::CudaText { text: mapped, options: options.clone() },
            UnitCode::Ptx { options, .. } => UnitCode::Ptx { text: mapped, options: options.clone() },
            UnitCode::CudaFile { .. } | UnitCode::Machine(_) => code.clone(),
        };
        TranslationUnit { code, ..self.unit.clone() }
    }

    fn mirror_files(
        &self,
        edited: &BTreeMap<PathBuf, String>,
        file: &SourceFile,
        flags: &NvccFlags,
    ) -> std::io::Result<Mirror> {
        let folder = Folder::new()?;
        let root = folder.path().join("mirror");
        let place = |path: &Path| path.strip_prefix(self.root).ok().map(|below| root.join(below));
        let unit_path = normalize(&file.path);
        let paths = self.dependencies.iter().map(|path| normalize(path)).chain([unit_path.clone()]);
        let mut folders = BTreeSet::new();
        for path in paths {
            let Some(copy) = place(&path) else { continue };
            folders.extend(path.parent().map(Path::to_path_buf));
            fs_err::create_dir_all(copy.parent().unwrap_or(&root))?;
            match edited.get(&path) {
                Some(text) => fs_err::write(&copy, text)?,
                None => drop(fs_err::copy(&path, &copy)?),
            }
        }
        // A unit outside the root is compiled at its original path, since its own text is not edited.
        let source = place(&unit_path).unwrap_or(unit_path);
        let base = place(&normalize(&self.unit.base)).unwrap_or_else(|| self.unit.base.clone());
        fs_err::create_dir_all(&base)?;
        let flags = self.mirrored_flags(flags, &root, folders);
        let code = UnitCode::CudaFile { file: SourceFile::read(&source, &root)?, flags };
        let unit = TranslationUnit { code, base, ..self.unit.clone() };
        Ok(Mirror { unit, root: Some(root), _folder: Some(folder) })
    }

    /// Maps paths below the root to the mirror. A mirrored file may include files from outside the root; they are
    /// searched relative to its original folder, after all other folders, the system's too: a project may have a `time.h`.
    fn mirrored_flags(&self, flags: &NvccFlags, mirror: &Path, folders: BTreeSet<PathBuf>) -> NvccFlags {
        let mut arguments: Vec<String> =
            flags.arguments.iter().map(|argument| mirrored(argument, self.root, mirror)).collect();
        arguments.extend(folders.iter().map(|folder| searched_last(&folder.to_string_lossy())));
        NvccFlags { arguments, ..flags.clone() }
    }
}

/// The flag that has a folder searched for headers after all others. nvcc takes no name with a comma for its host compiler.
fn searched_last(folder: &str) -> String {
    match folder.contains(',') {
        true => format!("-I{folder}"),
        false => format!("-Xcompiler=-idirafter,{folder}"),
    }
}

/// An argument, or a list of them with commas, with paths below the root in the mirror: that of `-I`. What leads out of the root
/// again, `/root/../include`, stays where it is.
fn mirrored(argument: &str, root: &Path, mirror: &Path) -> String {
    let own = root.to_string_lossy();
    let parts = argument.split(',').map(|part| {
        let Some((before, rest)) = part.split_once(&*own) else { return part.to_string() };
        let path = normalize(Path::new(&format!("{own}{rest}")));
        match path.strip_prefix(root) {
            Ok(below) if below.as_os_str().is_empty() => format!("{before}{}", mirror.display()),
            Ok(below) => format!("{before}{}", mirror.join(below).display()),
            Err(_) => format!("{before}{}", path.display()),
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Whether an edit at an offset is in code that is not clearly of the device alone: a function of the host, or one whose head does not
/// say, and what is outside of functions.
fn is_of_host(tree: &SyntaxTree, offset: usize) -> bool {
    let Some(function) = tree.node_at(offset).and_then(enclosing_function) else { return true };
    let end = function.field(Field::Body).map_or(function.end_byte(), |body| body.start_byte());
    let head = tree.text().get(function.start_byte()..end).unwrap_or("");
    let has = |word: &str| identifiers(head).any(|it| it == word);
    has("__host__") || !(has("__device__") || has("__global__"))
}

fn edited_files(edits: &[&Edit]) -> Option<BTreeMap<PathBuf, String>> {
    // A compilation may try a hundred edits of one file.
    let mut files: BTreeMap<&Path, Vec<&Edit>> = BTreeMap::new();
    edits.iter().for_each(|edit| files.entry(&edit.span.file.path).or_default().push(edit));
    let edited =
        |(path, edits): (&Path, Vec<&Edit>)| Some((normalize(path), edit::apply(edits[0].span.file.text(), &edits)?));
    files.into_iter().map(edited).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use lmem_base::diagnostic::FlagOrigin;
    use lmem_unit::DriverOptions;

    #[test]
    fn what_lies_outside_of_the_root_is_not_mirrored() {
        let of = |argument: &str| mirrored(argument, Path::new("/ws"), Path::new("/tmp/copy"));
        assert_eq!(of("-I/ws/include"), "-I/tmp/copy/include");
        assert_eq!(of("-I/ws/src/../include"), "-I/tmp/copy/include");
        assert_eq!(
            (of("-I/ws/../include"), of("-I/wsx/include")),
            ("-I/include".to_string(), "-I/wsx/include".to_string())
        );
        assert_eq!((of("-I/ws"), of("-O3")), ("-I/tmp/copy".to_string(), "-O3".to_string()));
        assert_eq!(of("-I/ws/a,/ws/b"), "-I/tmp/copy/a,/tmp/copy/b");
    }

    #[test]
    fn files_are_mirrored_with_their_edits() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("ws");
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, text).unwrap();
            path
        };
        let header = write("include/a.cuh", "int a;\n");
        let source = write("kernels/a.cu", "#include \"a.cuh\"\n");
        let file = &SourceFile::read(&source, &root).unwrap();
        let arguments = vec![format!("-I{}/include", root.display()), "-O3".into()];
        let flags = NvccFlags::new(arguments, FlagOrigin::Config);
        let unit = TranslationUnit {
            name: "kernels/a.cu".into(),
            package: None,
            base: root.clone(),
            code: UnitCode::CudaFile { file: Arc::clone(file), flags },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        };
        let header_file = SourceFile::read(&header, &root).unwrap();
        let edit = Edit::alone(Span::new(&header_file, 4..5), "b");
        let dependencies = [root.join("kernels/../include/a.cuh"), PathBuf::from("/usr/include/x.h")];
        let overlay = Overlay::new(&unit, &root, &dependencies, &[&edit]).unwrap();
        assert_eq!(overlay.texts(), [("include/a.cuh".to_string(), "int b;\n")]);
        // Each file gets all of its edits, in whatever order they come.
        let of_source = [Edit::alone(Span::new(file, 0..0), "// a\n"), Edit::alone(Span::new(file, 16..16), " // b")];
        let both = Overlay::new(&unit, &root, &dependencies, &[&of_source[1], &edit, &of_source[0]]).unwrap();
        let texts = [("include/a.cuh", "int b;\n"), ("kernels/a.cu", "// a\n#include \"a.cuh\" // b\n")];
        assert_eq!(both.texts(), texts.map(|(name, text)| (name.to_string(), text)));
        let mirror = overlay.mirror().unwrap();
        let mirrored = mirror.root.clone().unwrap();
        assert_eq!(fs_err::read_to_string(mirrored.join("include/a.cuh")).unwrap(), "int b;\n");
        assert_eq!(fs_err::read_to_string(&header).unwrap(), "int a;\n");
        let UnitCode::CudaFile { file, flags } = &mirror.unit.code else { panic!() };
        assert_eq!(file.path, mirrored.join("kernels/a.cu"));
        assert_eq!(flags.arguments[0], format!("-I{}/include", mirrored.display()));
        assert_eq!(mirror.unit.base, mirrored);
    }

    #[test]
    fn edits_of_the_host_are_told_from_those_of_the_device() {
        for (text, expected) in [
            ("__global__ void k() { HERE; }", false),
            ("template <int N> __device__ __forceinline__ int f() { HERE; }", false),
            ("struct S { __device__ int f() { HERE; } };", false),
            ("__device__ __noinline__ HERE int f() { return 1; }", false),
            ("__host__ __device__ int f() { HERE; }", true),
            ("DUAL int f() { HERE; }", true),
            ("constexpr int f() { HERE; }", true),
            ("__device__ int f();\nHERE t[2];", true),
        ] {
            let file = SourceFile::from_text("a.cu", text);
            let start = text.find("HERE").unwrap();
            let tree = SyntaxTree::new(MappedText::from_file(&file), CompiledText::Unknown);
            assert_eq!(is_of_host(&tree, start), expected, "{text}");
        }
    }

    #[test]
    fn files_outside_the_workspace_are_not_edited() {
        let file = SourceFile::from_text("/usr/include/a.cuh", "int a;");
        let unit = TranslationUnit {
            name: "a".into(),
            package: None,
            base: "/ws".into(),
            code: UnitCode::Ptx { text: MappedText::from_file(&file), options: DriverOptions::default() },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        };
        let edit = Edit::alone(Span::new(&file, 4..5), "b");
        assert!(Overlay::new(&unit, Path::new("/ws"), &[], &[&edit]).is_none());
    }
}
