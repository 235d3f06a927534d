//! Kernel strings in Rust code: what reaches a function that compiles CUDA, and what looks as if it should.

mod fold;
mod literals;
mod marker;
mod names;
mod options;
mod scan;
mod sinks;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memchr::memmem;
use proc_macro2::TokenStream;
use syn::Expr;

use self::fold::{Folded, Folder, Origin};
use self::names::{Code, MAX_RUST_BYTES, read_rust};
use self::scan::{Call, Value};
use self::sinks::{Options, Sink};
pub(super) use self::texts::texts;
use super::{IneffectiveOption, NvrtcOptions, TranslationUnit, UnitCode, Unresolved};
use crate::discover::{Workspace, has_ending};
use crate::source::{SourceFile, Span, display_path};

/// Parsing expressions takes stack with each level; see the bounds in `fold`, and the test of the deepest expressions.
const STACK_BYTES: usize = 128 << 20;

/// What the Rust files of a workspace gave.
#[derive(Debug, Default)]
pub(super) struct Strings {
    pub units: Vec<TranslationUnit>,
    pub unresolved: Vec<Unresolved>,
    /// Files whose whole text is in a unit.
    pub files: BTreeSet<PathBuf>,
    pub notes: Vec<String>,
}

/// Finds kernel strings. Nothing on the way trusts the files: what is too large or too deep is noted and left.
pub(super) fn extract(workspace: &Workspace) -> Strings {
    let files = marked_files(workspace);
    if files.is_empty() {
        return Strings::default();
    }
    let work = || Extractor::new(workspace, &files).run();
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("extract".to_string()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, work).map(std::thread::ScopedJoinHandle::join)
    });
    match result {
        Ok(Ok(strings)) => strings,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => note(format!("Rust code is not looked into: {error}")),
    }
}

fn note(note: String) -> Strings {
    Strings { notes: vec![note], ..Strings::default() }
}

/// Rust files with a word in them that makes them worth a look, and their packages.
fn marked_files(workspace: &Workspace) -> Vec<(PathBuf, Option<usize>)> {
    let markers: Vec<memmem::Finder<'_>> = sinks::MARKERS.iter().map(memmem::Finder::new).collect();
    let is_marked = |path: &Path| match read_rust(path) {
        Some(bytes) => markers.iter().any(|marker| marker.find(&bytes).is_some()),
        // Too large or not readable, which is said later.
        None => true,
    };
    let rust = workspace.files.iter().filter(|file| has_ending(&file.path, &["rs"]));
    rust.filter(|file| is_marked(&file.path)).map(|file| (file.path.clone(), file.package)).collect()
}

struct Extractor<'a> {
    workspace: &'a Workspace,
    code: Code<'a>,
    strings: Strings,
    /// Units by their text and options, with their index.
    seen: BTreeMap<(PathBuf, usize, String), usize>,
}

/// A call that has text compiled.
struct SinkCall {
    file: usize,
    sink: &'static Sink,
    span: Span,
    arguments: TokenStream,
    /// The package has a function of this name itself, whose doings are not known.
    is_own: bool,
}

impl<'a> Extractor<'a> {
    fn new(workspace: &'a Workspace, files: &[(PathBuf, Option<usize>)]) -> Self {
        let mut extractor =
            Self { workspace, code: Code::new(workspace), strings: Strings::default(), seen: BTreeMap::new() };
        for (path, package) in files {
            if let Err(reason) = extractor.add(path, *package) {
                let name = display_path(path, &workspace.root);
                extractor.strings.notes.push(format!("`{name}` is not looked into: {reason}"));
            }
        }
        extractor
    }

    fn add(&mut self, path: &Path, package: Option<usize>) -> Result<(), String> {
        let length = fs_err::metadata(path).map_err(|error| error.to_string())?.len();
        if length > MAX_RUST_BYTES {
            return Err(format!("it has {length} bytes, more than Rust code has"));
        }
        let file = SourceFile::read(path, &self.workspace.root).map_err(|error| error.to_string())?;
        self.code.add(&file, package).map_err(|_| "it is not Rust".to_string())?;
        match self.code.files.last() {
            Some(file) if file.rust.is_too_deep => Err("parts of it are nested too deeply".to_string()),
            _ => Ok(()),
        }
    }

    fn run(mut self) -> Strings {
        // Files that are read on the way were not asked for: they hold values, and their calls do not count.
        let asked_for = self.code.files.len();
        let calls: Vec<SinkCall> = (0..asked_for).flat_map(|file| sink_calls(&self.code, file)).collect();
        let mut reached = BTreeSet::new();
        for call in calls {
            let mut folder = Folder::new(&mut self.code);
            let outcome = follow(&mut folder, &call);
            reached.append(&mut folder.reached);
            match outcome {
                Outcome::Text(folded, options) => self.unit(&call, *folded, options),
                Outcome::Unresolved(unresolved) => self.strings.unresolved.push(unresolved),
                Outcome::Foreign => {}
            }
        }
        for file in 0..asked_for {
            self.leftovers(file, &reached);
        }
        self.strings
    }

    fn unit(&mut self, call: &SinkCall, folded: Folded, options: NvrtcOptions) {
        let Some(origin) = folded.origin else { return };
        let (name, path, start) = match &origin {
            Origin::Literal(span) => {
                (format!("{}:{}", span.file.display, span.start_line()), span.file.path.clone(), span.start)
            }
            Origin::File(file) => (file.display.clone(), file.path.clone(), 0),
        };
        self.strings.files.extend(folded.files);
        let is_at_call = match &origin {
            Origin::Literal(span) => span.file.path == call.span.file.path && call.span.range().contains(&span.start),
            Origin::File(_) => false,
        };
        // The same text with other options is another unit; pieces before or behind the first literal make another text.
        let NvrtcOptions { arguments, program_name, unresolved, ineffective, captured: _ } = &options;
        let key = (path, start, format!("{:?} {}", (arguments, program_name, unresolved), folded.text.as_str()));
        if let Some(known) = self.seen.get(&key).copied() {
            self.strings.units[known].add_ineffective(ineffective);
            return;
        }
        self.seen.insert(key, self.strings.units.len());
        let package = self.code.files[call.file].package.and_then(|package| self.workspace.packages.get(package));
        let folder = call.span.file.path.parent().unwrap_or(Path::new(""));
        self.strings.units.push(TranslationUnit {
            name,
            package: package.map(|package| package.name.clone()),
            base: package.map_or(folder, |package| &package.root).to_path_buf(),
            code: UnitCode::CudaText { text: folded.text, options },
            use_site: (!is_at_call).then(|| call.span.clone()),
        });
    }

    /// Literals with a kernel in them that nothing known compiles.
    fn leftovers(&mut self, file: usize, reached: &BTreeSet<(usize, usize)>) {
        let rust = &self.code.files[file].rust;
        for literal in rust.literals.iter().filter(|literal| !reached.contains(&(file, literal.start))) {
            let span = Span::new(&rust.file, literal.clone());
            let is_candidate = span.text().contains("__global__");
            let text = if is_candidate { literals::decode(&rust.file, literal.clone()) } else { None };
            if text.is_some_and(|text| marker::is_kernel(text.as_str())) {
                let reason = "it reaches no call that is known to compile it".to_string();
                self.strings.unresolved.push(Unresolved { span, reason });
            }
        }
    }
}

impl TranslationUnit {
    /// Another call has the same text compiled with options that mean the same, and says them at another place.
    fn add_ineffective(&mut self, more: &[IneffectiveOption]) {
        let UnitCode::CudaText { options, .. } = &mut self.code else { return };
        let new: Vec<IneffectiveOption> =
            more.iter().filter(|option| !options.ineffective.contains(option)).cloned().collect();
        options.ineffective.extend(new);
    }
}

enum Outcome {
    Text(Box<Folded>, NvrtcOptions),
    Unresolved(Unresolved),
    /// A function of the same name and of other arguments.
    Foreign,
}

fn sink_calls(code: &Code<'_>, file: usize) -> Vec<SinkCall> {
    let rust = &code.files[file].rust;
    let sink_call = |call: &Call| {
        let (sink, path) = sink_of(rust, call)?;
        let span = Span::new(&rust.file, call.range.clone());
        let is_own = code.defines_function(file, sink, &path);
        Some(SinkCall { file, sink, span, arguments: call.arguments.clone(), is_own })
    };
    rust.calls.iter().filter_map(sink_call).collect()
}

/// The sink that a call means, by its own name or by one that a `use … as` gave it, and its path.
fn sink_of(rust: &scan::RustFile, call: &Call) -> Option<(&'static Sink, Vec<String>)> {
    let [name] = call.path.as_slice() else {
        return sinks::by_name(call.path.last()?).map(|sink| (sink, call.path.clone()));
    };
    match rust.binding(name, call.range.start).ok().flatten().map(|binding| &binding.value) {
        Some(Value::Path(path)) => sinks::by_name(path.last()?).map(|sink| (sink, path.clone())),
        Some(_) => None,
        None => sinks::by_name(name).map(|sink| (sink, call.path.clone())),
    }
}

fn follow(folder: &mut Folder<'_, '_>, call: &SinkCall) -> Outcome {
    let arguments = match fold::parse_list(call.arguments.clone()) {
        Ok(arguments) => arguments,
        Err(reason) => {
            folder.reach_all(call.file, call.arguments.clone());
            return Outcome::Unresolved(Unresolved { span: call.span.clone(), reason });
        }
    };
    let (true, Some(text)) = (arguments.len() == call.sink.arguments, arguments.get(call.sink.text)) else {
        return Outcome::Foreign;
    };
    match folder.text(call.file, text) {
        Ok(folded) if call.is_own && !marker::is_kernel(folded.text.as_str()) => Outcome::Foreign,
        Ok(folded) => Outcome::Text(Box::new(folded), options_of(folder, call, &arguments)),
        Err(reason) => {
            let span = folder.span(call.file, text);
            folder.reach_all(call.file, call.arguments.clone());
            Outcome::Unresolved(Unresolved { span, reason })
        }
    }
}

fn options_of(folder: &mut Folder<'_, '_>, call: &SinkCall, arguments: &[Expr]) -> NvrtcOptions {
    let mut options = match call.sink.options.and_then(|(index, kind)| Some((arguments.get(index)?, kind))) {
        Some((expression, Options::Cudarc)) => options::cudarc(folder, call.file, expression),
        None => NvrtcOptions::default(),
    };
    if call.is_own {
        options.unresolved = Some(format!("`{}` is a function of this package, which may add options", call.sink.name));
        // Nor is it known what becomes of those that are there.
        options.ineffective.clear();
    }
    options
}

#[cfg(test)]
mod tests;
