//! From a file to compilable texts: one `.cu` file is one unit, a `.rs` file has one for each kernel string. Machine code
//! that lies in the workspace is a unit too, that is compiled already.

mod cu;
mod fatbin;
mod machine;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::build_flags::BuildFlags;
use crate::diagnostic::{Edit, FlagOrigin};
use crate::discover::{Workspace, has_ending};
use crate::source::{SourceFile, Span};

pub use machine::MachineCode;

/// One text for a compiler, with the map from its offsets back to the files that users edit.
#[derive(Debug, Clone)]
pub struct TranslationUnit {
    /// How the unit is called in messages: `kernels/scan.cu`, `src/kernels.rs:41`.
    pub name: String,
    /// The package it belongs to, by name.
    pub package: Option<String>,
    /// Folder that relative include paths start from: the package's, else that of the file.
    pub base: PathBuf,
    pub code: UnitCode,
    /// Where the kernel string is handed over (`compile_ptx(SRC)`), when that is not where the text lies.
    pub use_site: Option<Span>,
    /// How Rust code launches its kernels.
    pub launches: Vec<RustLaunch>,
}

/// A launch of a kernel in Rust code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustLaunch {
    /// The name that it is loaded by: of `extern "C"` kernels their own, else the mangled one.
    pub kernel: String,
    /// Threads along each axis, where they are known.
    pub block: Option<[u32; 3]>,
    pub dynamic_shared: DynamicShared,
    /// Where the name is handed over.
    pub loaded_at: Span,
    pub span: Span,
}

/// Shared memory that a launch adds to what the kernel declares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DynamicShared {
    /// No launch was seen.
    #[default]
    Unseen,
    Bytes(u64),
    /// The number is only known when the program runs.
    Unknown,
}

impl TranslationUnit {
    /// The file whose package and settings the unit has.
    pub fn path(&self) -> PathBuf {
        let of_text = |text: &MappedText| text.segments.first().map(|segment| segment.source.file.path.clone());
        let path = match (&self.use_site, &self.code) {
            (Some(span), _) => Some(span.file.path.clone()),
            (None, UnitCode::CudaFile { file, .. }) => Some(file.path.clone()),
            (None, UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }) => of_text(text),
            (None, UnitCode::Machine(code)) => Some(code.span.file.path.clone()),
        };
        path.unwrap_or_else(|| self.base.clone())
    }
}

/// Names that units have, where several texts may come from one place.
#[derive(Debug, Default)]
pub struct UnitNames(BTreeMap<String, usize>);

impl UnitNames {
    /// The name, with a number where another unit has it: `src/lib.rs:5#2`.
    pub fn unique(&mut self, name: &str) -> String {
        let known = self.0.entry(name.to_string()).or_default();
        *known += 1;
        if *known > 1 { format!("{name}#{known}") } else { name.to_string() }
    }
}

/// What is compiled, and by which compiler.
#[derive(Debug, Clone)]
pub enum UnitCode {
    /// A `.cu` file, compiled where it lies by `nvcc`.
    CudaFile { file: Arc<SourceFile>, flags: NvccFlags },
    /// CUDA C++ text from Rust code, compiled by NVRTC.
    CudaText { text: MappedText, options: NvrtcOptions },
    /// PTX text, for `ptxas` alone.
    Ptx { text: MappedText, options: DriverOptions },
    /// A cubin, for no compiler.
    Machine(MachineCode),
}

/// Flags of a `.cu` file, beside the architecture and what reading the result needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvccFlags {
    pub arguments: Vec<String>,
    pub origin: FlagOrigin,
    /// What the project's build makes code for; empty where that is not known.
    pub targets: Vec<CodeTarget>,
    /// Flags of the build that do not reach the code that runs; they are not among the arguments.
    pub ineffective: Vec<String>,
    /// What Rust code has the driver do with the PTX that the build makes of the file.
    pub driver: DriverOptions,
}

/// One architecture that a build makes code for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeTarget {
    /// Of the PTX: `compute_80`.
    pub virtual_architecture: String,
    /// Of the machine code: `sm_90`. Without it the driver makes that from the PTX, for the GPU that it finds.
    pub architecture: Option<String>,
}

impl NvccFlags {
    pub fn new(arguments: Vec<String>, origin: FlagOrigin) -> Self {
        Self { arguments, origin, targets: Vec::new(), ineffective: Vec::new(), driver: DriverOptions::default() }
    }

    /// All arguments, those of the driver's compiler as nvcc gives them on to ptxas. A limit that was set for nvcc, other
    /// than by the build, is meant more.
    pub fn all_arguments(&self) -> Vec<String> {
        let is_limit = |argument: &String| argument.trim_start_matches('-').starts_with("maxrregcount");
        let is_limited = self.arguments.iter().any(is_limit);
        let driver = self.driver.arguments.iter().filter(|argument| !(is_limited && is_limit(argument)));
        self.arguments.iter().cloned().chain(driver.map(|argument| format!("-Xptxas={argument}"))).collect()
    }

    /// What the build makes machine code for.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter_map(|target| target.architecture.as_deref())
    }

    /// The virtual architecture that code for `architecture` comes from, where the build says another one than its own.
    pub fn virtual_architecture(&self, architecture: &str) -> Option<&str> {
        let is_meant = |target: &&CodeTarget| target.architecture.as_deref() == Some(architecture);
        let driver = || self.targets.iter().find(|target| target.architecture.is_none());
        let found = self.targets.iter().find(is_meant).or_else(driver)?;
        let own = architecture.replacen("sm_", "compute_", 1);
        Some(found.virtual_architecture.as_str()).filter(|name| *name != own)
    }
}

/// Options as NVRTC gets them when the Rust program runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NvrtcOptions {
    /// The arguments, in cudarc's order.
    pub arguments: Vec<String>,
    /// Name of the program, where the code gives one.
    pub program_name: Option<String>,
    /// Why some options could not be read from the code; they are missing above then.
    pub unresolved: Option<String>,
    /// Options that do not do what they say.
    pub ineffective: Vec<IneffectiveOption>,
    /// What a program that ran gave to NVRTC beside the text; `None` for text that was read in its source.
    pub captured: Option<CapturedText>,
    /// All code that has the text compiled panics unless that fails.
    pub must_fail: bool,
}

/// Options that a program gives to the driver's compiler, beside PTX.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverOptions {
    /// As arguments of ptxas.
    pub arguments: Vec<String>,
    /// The one that limits registers.
    pub limit: Option<Span>,
    /// Why they could not be read from the code; none is among the arguments then.
    pub unresolved: Option<String>,
    /// Architectures that machine code beside the PTX is for: the driver compiles the PTX for none of them.
    pub compiled: Vec<u32>,
}

/// What NVRTC was given by a program that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedText {
    /// Names and texts of headers.
    pub headers: Vec<(String, String)>,
    /// Template instances, by the expressions that name them.
    pub expressions: Vec<String>,
    /// The program takes machine code, which options of ptxas have a part in.
    pub takes_cubin: bool,
}

/// An option in Rust code that is without effect on the code that runs, or has another one than its name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IneffectiveOption {
    pub kind: IneffectiveKind,
    /// The field, or the literal in `options`.
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IneffectiveKind {
    /// `maxrregcount: Some(32)`, `--maxrregcount=32`: NVRTC hands out PTX, which does not carry it.
    MaxRegisters,
    /// `--ptxas-options`: the ptxas of NVRTC has no part in making PTX.
    PtxasOptions,
    /// `use_fast_math: Some(true)`: cudarc passes `--fmad=true`.
    FastMath,
}

/// Text put together from pieces of source files, such as a decoded string literal.
#[derive(Debug, Clone, Default)]
pub struct MappedText {
    text: String,
    /// In order of `text`, without overlaps. Text between segments comes from no file.
    segments: Vec<Segment>,
}

/// A piece of text and the bytes of a file that it was decoded from.
#[derive(Debug, Clone)]
struct Segment {
    text: Range<usize>,
    source: Span,
}

impl MappedText {
    /// A whole file.
    pub fn from_file(file: &Arc<SourceFile>) -> Self {
        let mut text = Self::default();
        text.push(file.text(), Span::new(file, 0..file.text().len()));
        text
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Adds a piece. Where `piece` and `source` have the same length they correspond byte by byte;
    /// else (`\n`, `\u{e9}`) the whole piece stands for the whole source range.
    pub fn push(&mut self, piece: &str, source: Span) {
        let start = self.text.len();
        self.text.push_str(piece);
        if let Some(last) = self.segments.last_mut() {
            let verbatim = last.text.len() == last.source.range().len() && piece.len() == source.range().len();
            let adjacent =
                last.text.end == start && last.source.end == source.start && last.source.file.path == source.file.path;
            if verbatim && adjacent {
                last.text.end = self.text.len();
                last.source.end = source.end;
                return;
            }
        }
        self.segments.push(Segment { text: start..self.text.len(), source });
    }

    /// Adds text that stands in no file, such as a number that `stringify!` made.
    pub fn push_generated(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// A part of the text. An escape that is cut has no place.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut part =
            Self { text: self.text.get(range.clone()).unwrap_or_default().to_string(), segments: Vec::new() };
        let first = self.segments.partition_point(|segment| segment.text.end <= range.start);
        for segment in self.segments[first..].iter().take_while(|segment| segment.text.start < range.end) {
            let (start, end) = (segment.text.start.max(range.start), segment.text.end.min(range.end));
            let is_verbatim = segment.text.len() == segment.source.range().len();
            if start >= end || !(is_verbatim || (start..end) == segment.text) {
                continue;
            }
            let mut source = segment.source.clone();
            if is_verbatim {
                source.start += start - segment.text.start;
                source.end = source.start + (end - start);
            }
            part.segments.push(Segment { text: start - range.start..end - range.start, source });
        }
        part
    }

    /// The source bytes of a range that was written in one piece.
    pub fn piece(&self, range: Range<usize>) -> Option<Span> {
        let index = self.segments.partition_point(|segment| segment.text.end <= range.start);
        let Segment { text, source } = self.segments.get(index)?;
        if text.start > range.start || text.end < range.end {
            return None;
        }
        if text.len() == source.range().len() {
            let start = source.start + (range.start - text.start);
            return Some(Span::new(&source.file, start..start + range.len()));
        }
        (*text == range).then(|| source.clone())
    }

    /// The same text, where its source is itself a text with a map: from there back to the files.
    pub fn through(&self, sources: &Self) -> Self {
        let segment = |segment: &Segment| {
            let source = sources.piece(segment.source.range())?;
            Some(Segment { text: segment.text.clone(), source })
        };
        Self { text: self.text.clone(), segments: self.segments.iter().filter_map(segment).collect() }
    }

    /// Adds another mapped text.
    pub fn append(&mut self, other: &Self) {
        let shift = self.text.len();
        self.text.push_str(&other.text);
        self.segments.extend(other.segments.iter().map(|segment| Segment {
            text: segment.text.start + shift..segment.text.end + shift,
            source: segment.source.clone(),
        }));
    }

    /// The source bytes of a range of the text; `None` where it comes from no file or spans two files.
    pub fn span(&self, range: Range<usize>) -> Option<Span> {
        let first = self.place(range.start)?;
        let last = self.place(range.end.saturating_sub(1).max(range.start))?;
        (first.file.path == last.file.path && first.start <= last.end)
            .then(|| Span::new(&first.file, first.start..if range.is_empty() { first.start } else { last.end }))
    }

    /// The text as it is once the files that it was made of are edited; `None` where an edit does not lie on it.
    pub fn edited(&self, edits: &[&Edit]) -> Option<String> {
        let mut sorted: Vec<&Edit> = edits.to_vec();
        sorted.sort();
        sorted.dedup();
        let mut edited = String::with_capacity(self.text.len());
        let mut at = 0;
        for edit in sorted {
            let range = self.range_of(&edit.span)?;
            edited.push_str(self.text.get(at..range.start)?);
            edited.push_str(&decoded(edit)?);
            at = range.end;
        }
        edited.push_str(self.text.get(at..)?);
        Some(edited)
    }

    /// Bytes of the text that come from a span; `None` where none or several do.
    pub fn range_of(&self, span: &Span) -> Option<Range<usize>> {
        let start = self.offset_of(&span.file, span.start, false)?;
        let end = if span.range().is_empty() { start } else { self.offset_of(&span.file, span.end, true)? };
        (start <= end).then_some(start..end)
    }

    /// The place in the text of a byte of a file, or of the end of what stands before it.
    fn offset_of(&self, file: &SourceFile, offset: usize, is_end: bool) -> Option<usize> {
        let holds = |segment: &&Segment| {
            let source = &segment.source;
            let is_within =
                if is_end { source.start < offset && offset <= source.end } else { source.range().contains(&offset) };
            source.file.path == file.path && is_within
        };
        let mut found = self.segments.iter().filter(holds);
        let segment = found.next().filter(|_| found.next().is_none())?;
        let from_start = offset - segment.source.start;
        match (segment.text.len() == segment.source.range().len(), offset == segment.source.end) {
            (true, _) => Some(segment.text.start + from_start),
            (false, true) => Some(segment.text.end),
            (false, false) => (from_start == 0).then_some(segment.text.start),
        }
    }

    /// Whether any of the text comes from a file.
    pub fn comes_from(&self, path: &Path) -> bool {
        self.segments.iter().any(|segment| segment.source.file.path == path)
    }

    /// The source bytes of the one byte (or escape) at an offset.
    fn place(&self, offset: usize) -> Option<Span> {
        let index = self.segments.partition_point(|segment| segment.text.end <= offset);
        let segment = self.segments.get(index).filter(|segment| segment.text.start <= offset)?;
        if segment.text.len() == segment.source.range().len() {
            let start = segment.source.start + (offset - segment.text.start);
            return Some(Span::new(&segment.source.file, start..start + 1));
        }
        Some(segment.source.clone())
    }
}

/// What an edit puts into the text: in Rust code it is a part of a literal, where only escapes have a backslash, as
/// kernels in raw literals are given none.
fn decoded(edit: &Edit) -> Option<String> {
    if !has_ending(&edit.span.file.path, &["rs"]) {
        return Some(edit.replacement.clone());
    }
    let replacement = edit.replacement.replace("\r\n", "\n");
    let mut text = String::new();
    let mut failed = false;
    rustc_literal_escaper::unescape_str(&replacement, |_, result| match result {
        Ok(character) => text.push(character),
        Err(error) => failed |= error.is_fatal(),
    });
    (!failed).then_some(text)
}

/// Text that looks like a kernel but whose value is only known at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    pub span: Span,
    /// Why, as the end of the sentence "was not analysed: …".
    pub reason: String,
}

/// What the files of a workspace gave.
#[derive(Debug, Clone, Default)]
pub struct Extraction {
    /// The units of files first, then those of strings, each in the order of paths and lines.
    pub units: Vec<TranslationUnit>,
    /// By place.
    pub unresolved: Vec<Unresolved>,
    /// What was not looked into, for `-v`.
    pub notes: Vec<String>,
}

/// Reads the files of a workspace and gives the texts to compile.
///
/// A `.cu` file whose text Rust code hands to NVRTC is a unit of NVRTC's, and none of nvcc's.
pub fn extract(workspace: &Workspace, builds: &BuildFlags) -> Extraction {
    let strings = rust::extract(workspace, builds);
    let mut extraction = cu::extract(workspace, builds, &strings);
    extraction.units.extend(strings.units);
    extraction.unresolved.extend(strings.unresolved);
    extraction.unresolved.sort_by(|left, right| left.span.cmp(&right.span));
    extraction.notes.extend(strings.notes);
    distribute(&strings.launches, &strings.readers, workspace, &mut extraction.units);
    extraction
}

/// The texts of a workspace that a program may put kernels together from: literals of Rust code, and `.cu` files.
pub fn kernel_texts(workspace: &Workspace) -> Vec<MappedText> {
    let files = workspace.files.iter().filter(|file| has_ending(&file.path, &["cu"]));
    let files = files.filter_map(|file| SourceFile::read(&file.path, &workspace.root).ok());
    rust::texts(workspace).into_iter().chain(files.map(|file| MappedText::from_file(&file))).collect()
}

/// Gives launches to the file that defines the kernel, in each way in which it is compiled; where several do, it is not known
/// whose they are. Where a kernel may be launched by a name that is not known, it is only said where it is loaded.
fn distribute(
    launches: &rust::Launches,
    readers: &BTreeSet<Option<usize>>,
    workspace: &Workspace,
    units: &mut [TranslationUnit],
) {
    let is_sure =
        |unit: &TranslationUnit| !launches.unknown.iter().any(|load| load.may_be_of(unit, workspace, readers));
    let sure: Vec<bool> = units.iter().map(is_sure).collect();
    for load in &launches.known {
        let launch = &load.launch;
        let may_define = |(_, unit): &(usize, &mut TranslationUnit)| {
            let is_in_module = || load.module.as_ref().is_none_or(|module| module.iter().any(|text| text.is_of(unit)));
            unit.may_define(&launch.kernel) && is_in_module()
        };
        let mut owners: Vec<(usize, &mut TranslationUnit)> = units.iter_mut().enumerate().filter(may_define).collect();
        let is_file = owners.iter().all(|(_, unit)| matches!(unit.code, UnitCode::CudaFile { .. }));
        let is_same = |unit: &TranslationUnit, other: &TranslationUnit| match is_file {
            true => unit.path() == other.path(),
            false => unit.text().is_some() && unit.text() == other.text(),
        };
        if owners.is_empty() || !owners.iter().all(|(_, unit)| is_same(unit, owners[0].1)) {
            continue;
        }
        for (index, unit) in &mut owners {
            let unknown = || RustLaunch { block: None, dynamic_shared: DynamicShared::Unseen, ..launch.clone() };
            unit.launches.push(if sure[*index] { launch.clone() } else { unknown() });
        }
    }
}

impl TranslationUnit {
    /// The text of a unit that is no `.cu` file.
    fn text(&self) -> Option<&str> {
        match &self.code {
            UnitCode::CudaFile { .. } | UnitCode::Machine(_) => None,
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => Some(text.as_str()),
        }
    }

    /// Whether a kernel's name stands in the text; that of a mangled one as the source has it.
    fn may_define(&self, kernel: &str) -> bool {
        let kernel = match &self.code {
            UnitCode::Ptx { .. } | UnitCode::Machine(_) => kernel,
            UnitCode::CudaFile { .. } | UnitCode::CudaText { .. } => source_name(kernel),
        };
        let text = match &self.code {
            UnitCode::CudaFile { file, .. } => file.text(),
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => text.as_str(),
            UnitCode::Machine(code) => return code.may_define(kernel),
        };
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let mut places = memchr::memmem::find_iter(text.as_bytes(), kernel.as_bytes());
        places.any(|at| {
            let (before, rest) = (text.get(..at).unwrap_or(""), text.get(at + kernel.len()..).unwrap_or(""));
            !before.ends_with(is_part) && !rest.starts_with(is_part)
        })
    }
}

/// A function's own name in a mangled one: `mean` of `_ZN4user4meanIfEEvPT_`; other names are their own.
fn source_name(name: &str) -> &str {
    let mut rest = name.strip_prefix("_Z").unwrap_or("");
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut last = name;
    while let Some(digits) = rest.find(|character: char| !character.is_ascii_digit()).filter(|digits| *digits > 0) {
        let (length, behind) = rest.split_at(digits);
        let Some(part) = length.parse::<usize>().ok().and_then(|length| behind.get(..length)) else { break };
        (last, rest) = (part, &behind[part.len()..]);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_hold_the_name_of_the_source() {
        for (name, expected) in [
            ("mean", "mean"),
            ("_Z4meanPf", "mean"),
            ("_ZN4user4meanIfEEvPT_", "mean"),
            ("_Z", "_Z"),
            ("_Z9mean", "_Z9mean"),
            ("_Z99999999999999999999mean", "_Z99999999999999999999mean"),
        ] {
            assert_eq!(source_name(name), expected);
        }
    }

    #[test]
    fn units_of_one_place_are_numbered() {
        let mut names = UnitNames::default();
        assert_eq!(["a:1", "b:1", "a:1", "a:1"].map(|name| names.unique(name)), ["a:1", "b:1", "a:1#2", "a:1#3"]);
    }

    #[test]
    fn offsets_map_through_escapes_and_files() {
        let rust = SourceFile::from_text("a.rs", r#""ab\ncd""#);
        let other = SourceFile::from_text("b.cu", "xyz");
        let mut text = MappedText::default();
        text.push("ab", Span::new(&rust, 1..3));
        text.push("\n", Span::new(&rust, 3..5));
        text.push("cd", Span::new(&rust, 5..7));
        text.push_generated("4");
        text.push("xyz", Span::new(&other, 0..3));
        assert_eq!(text.as_str(), "ab\ncd4xyz");
        assert_eq!(text.span(1..4).unwrap().text(), r"b\nc");
        assert_eq!(text.span(2..3).unwrap().text(), r"\n");
        assert_eq!(text.span(5..6), None);
        assert_eq!(text.span(3..8), None);
        assert_eq!(text.span(6..9).unwrap().text(), "xyz");
        let part = text.slice(1..7);
        assert_eq!(part.as_str(), "b\ncd4x");
        let places: Vec<String> =
            [0..1, 1..2, 2..4, 5..6].map(|range| part.span(range).unwrap().text().to_string()).into();
        assert_eq!(places, ["b", r"\n", "cd", "x"]);
    }

    #[test]
    fn edits_of_files_change_the_text() {
        let rust = SourceFile::from_text("a.rs", r#""ab\ncd""#);
        let mut text = MappedText::default();
        text.push("ab", Span::new(&rust, 1..3));
        text.push("\n", Span::new(&rust, 3..5));
        text.push("cd", Span::new(&rust, 5..7));
        let edit = |range: Range<usize>, replacement: &str| Edit::alone(Span::new(&rust, range), replacement);
        let edited = |edits: &[Edit]| text.edited(&edits.iter().collect::<Vec<_>>());
        assert_eq!(edited(&[edit(5..5, r"#pragma unroll\n")]).as_deref(), Some("ab\n#pragma unroll\ncd"));
        assert_eq!(edited(&[edit(6..7, "x"), edit(1..2, "")]).as_deref(), Some("b\ncx"));
        assert_eq!(edited(&[edit(2..5, "x")]).as_deref(), Some("axcd"));
        // In the middle of an escape, and outside the literal.
        assert_eq!(edited(&[edit(4..4, "x")]), None);
        assert_eq!(edited(&[edit(0..1, "x")]), None);
    }
}
