//! Kernel strings in Rust code: texts that reach a compile or load call, and texts that look as if they should.

mod built;
mod driver;
mod expected;
mod fold;
mod launches;
mod leftovers;
mod literals;
mod machine;
mod macros;
mod marker;
mod names;
mod options;
mod reached;
mod scan;
mod sinks;
mod template;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem;
use serde::{Deserialize, Serialize};
use syn::Expr;

use lmem_base::source::{SourceFile, Span, has_ending};
use lmem_base::{digest, places};
use lmem_project::build_flags::{BuildFlags, BuiltFile};
use lmem_project::discover::{DiscoveredFile, NotChecked, Workspace};
use lmem_unit::{DriverOptions, IneffectiveOption, NvrtcOptions, TranslationUnit, UnitCode, UnitNames, Unresolved};

use self::fold::{Folded, Folder, Origin};
use self::names::{Code, FunctionId, MAX_RUST_BYTES, count_arguments};
use self::scan::{Call, Value};
use self::sinks::{Driver, Options, Sink, Takes};
use crate::rust::fold::failure::{Failure, FailureKind};
use crate::rust::fold::frames::Frames;
use crate::rust::scan::scanner::MAX_DEPTH;

pub(super) use self::launches::Launches;
pub(super) use crate::rust::texts::texts;

/// Parsing is recursive. This stack is enough for the limits in `fold`; a test parses the deepest expressions.
const STACK_BYTES: usize = 128 << 20;

/// Files up to this size are searched for words that kernels come with. Larger ones than [`MAX_RUST_BYTES`] are not
/// analysed, which is an error where they have one.
const MAX_SEARCHED_BYTES: u64 = 64 << 20;

/// Limit on the depth of callers through which a text is passed on.
const MAX_CALLERS_DEEP: usize = 8;

/// Limit on the call paths through which texts reach one call.
const MAX_WAYS: usize = 512;

/// The same for all calls of a workspace together.
const MAX_WAYS_OF_ALL: usize = 65_536;

/// The result for all Rust files of a workspace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Strings {
    pub units: Vec<TranslationUnit>,
    pub unresolved: Vec<Unresolved>,
    /// Files whose whole text is in a unit.
    pub files: BTreeSet<PathBuf>,
    /// `.cu` files whose built PTX is loaded by programs, with the driver options of each load.
    pub loaded: BTreeMap<PathBuf, Vec<DriverOptions>>,
    /// Files that may have kernels and could not be read.
    pub unread: Vec<Unresolved>,
    /// Code and texts beyond the limits of what is followed.
    pub beyond: Vec<Unresolved>,
    /// Code that is compiled and not checked.
    pub not_checked: Vec<NotChecked>,
    pub notes: Vec<String>,
    pub launches: Launches,
    /// Packages that open kernel files at run time.
    pub readers: BTreeSet<Option<usize>>,
}

/// Finds kernel strings. Input is untrusted: what is too large or too deep is noted and skipped.
pub(super) fn extract(workspace: &Workspace, builds: &BuildFlags) -> Strings {
    let look = || {
        let reached = reached::reached(workspace);
        let strings = match reached.files.as_slice() {
            [] => Strings::default(),
            files => Extractor::new(workspace, builds, files).run(),
        };
        Strings { not_checked: reached.not_checked, ..strings }
    };
    let work = || places::watched(look);
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("extract".to_string()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, work).map(std::thread::ScopedJoinHandle::join)
    });
    match result {
        Ok(Ok((strings, asked))) => {
            // The queries of the worker thread also count as this thread's queries.
            asked.iter().for_each(|path| places::asked_for(path));
            strings
        }
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => note(format!("Rust code is not looked into: {error}")),
    }
}

/// A file that was not read, and why.
pub(super) fn unread(path: &Path, root: &Path, reason: String) -> Unresolved {
    Unresolved { span: Span::new(&SourceFile::without_text(path, root), 0..0), reason }
}

pub(super) fn cannot_be_read(error: &std::io::Error) -> String {
    format!("it cannot be read ({error})")
}

fn note(note: String) -> Strings {
    Strings { notes: vec![note], ..Strings::default() }
}

struct Extractor<'a> {
    workspace: &'a Workspace,
    builds: &'a BuildFlags,
    code: Code<'a>,
    /// Number of files to check. Later files were read on the way, for values and for calls of functions and macros.
    asked_for: usize,
    strings: Strings,
    /// The index of each unit, by origin, text and options.
    seen: BTreeMap<(PathBuf, usize, String), usize>,
    names: UnitNames,
    /// Places and reasons that are said.
    unresolved: BTreeSet<(Span, String)>,
}

/// A call that compiles or loads a kernel.
struct SinkCall {
    file: usize,
    sink: &'static Sink,
    call: Call,
    span: Span,
}

/// The call path to a sink, innermost call first.
#[derive(Clone, Default)]
struct Way(Vec<Step>);

#[derive(Clone)]
struct Step {
    function: FunctionId,
    file: usize,
    call: Call,
    arguments: Vec<Expr>,
    /// Index of the argument with the text.
    wanted: usize,
}

impl Way {
    fn frames(&self) -> Frames {
        let outermost_first = self.0.iter().rev();
        outermost_first
            .fold(Frames::default(), |frames, step| frames.within(step.function, step.file, step.arguments.clone()))
    }
}

impl<'a> Extractor<'a> {
    fn new(workspace: &'a Workspace, builds: &'a BuildFlags, files: &[(PathBuf, Option<usize>)]) -> Self {
        let mut extractor = Self {
            workspace,
            builds,
            code: Code::new(workspace),
            asked_for: 0,
            strings: Strings::default(),
            seen: BTreeMap::new(),
            names: UnitNames::default(),
            unresolved: BTreeSet::new(),
        };
        for (path, package) in files {
            extractor.add(path, *package);
        }
        extractor.asked_for = extractor.code.files.len();
        extractor.code.expand_macros();
        // Files that only call such a macro have no marker word themselves.
        for name in extractor.code.macros.about_kernels(extractor.asked_for) {
            extractor.code.read_packages_with(&format!("{name}!"));
        }
        extractor
    }

    fn add(&mut self, path: &Path, package: Option<usize>) {
        if let Err(unread) = self.read(path).and_then(|file| self.code.add(&file, package)) {
            self.without_its_texts(path);
            self.strings.unread.push(unread);
        }
    }

    fn read(&self, path: &Path) -> Result<Arc<SourceFile>, Unresolved> {
        let unread = |reason: String| unread(path, &self.workspace.root, reason);
        let length = fs_err::metadata(path).map_err(|error| unread(cannot_be_read(&error)))?.len();
        if length > MAX_RUST_BYTES {
            return Err(unread(format!("it has {length} bytes, more than the {MAX_RUST_BYTES} of Rust code")));
        }
        SourceFile::read(path, &self.workspace.root).map_err(|error| unread(cannot_be_read(&error)))
    }

    /// Takes the `.cu` files that an unread file includes for texts of Rust code: nvcc would compile them as nobody
    /// does.
    fn without_its_texts(&mut self, path: &Path) {
        let bytes = places::read(path, MAX_SEARCHED_BYTES).unwrap_or_default();
        if memmem::find(&bytes, b"include_").is_none() {
            return;
        }
        let files = self.workspace.files.iter().filter(|file| has_ending(&file.path, &["cu"]));
        let is_named = |file: &&DiscoveredFile| {
            let name = file.path.file_name().and_then(|name| name.to_str()).map(|name| format!("{name}\""));
            name.is_some_and(|name| memmem::find(&bytes, name.as_bytes()).is_some())
        };
        self.strings.files.extend(files.filter(is_named).map(|file| file.path.clone()));
    }

    fn run(mut self) -> Strings {
        let asked_for = self.asked_for;
        let calls: Vec<SinkCall> =
            (0..self.code.files.len()).flat_map(|file| sink_calls(&mut self.code, file, asked_for)).collect();
        let mut reached = BTreeSet::new();
        let mut outcomes = Vec::new();
        let mut folder = Folder::new(&mut self.code);
        for call in calls {
            let found = follow(&mut folder, &call);
            outcomes.extend(found.into_iter().map(|outcome| (call.file, outcome)));
        }
        reached.append(&mut folder.reached);
        let in_unknown = std::mem::take(&mut folder.in_unknown);
        self.strings.launches = launches::launches(&mut folder);
        for (file, outcome) in outcomes {
            // An unknown text may come from any file.
            if !matches!(outcome, Outcome::Text(_)) {
                self.strings.readers.insert(self.code.files[file].package);
            }
            match outcome {
                Outcome::Text(unit) => self.unit(file, *unit),
                Outcome::Unresolved(unresolved) => self.unresolved(unresolved),
                Outcome::TooLarge(unresolved) => self.too_large(unresolved),
                Outcome::Beyond(unresolved) => self.beyond(unresolved),
                Outcome::Built { built, options, unresolved } => self.built(file, &built, options, unresolved),
                Outcome::Machine { path, span } => self.machine(file, &path, &span),
            }
        }
        for file in 0..asked_for {
            self.leftovers(file, &reached);
        }
        for unit in &mut self.strings.units {
            let (UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }) = &unit.code else { continue };
            let whole = text.span(0..text.as_str().len());
            unit.shared = in_unknown.iter().filter(|literal| text.touches(literal)).cloned().collect();
            // Who gets a text that no call is known to compile may add to it.
            if unit.is_unclaimed() {
                unit.shared.extend(whole);
            }
        }
        self.strings.unread.append(&mut self.code.unread_files);
        // Files without a word that kernels come with were read for what they define or call.
        for file in &self.code.files {
            let Some(place) = file.rust.too_deep.clone() else { continue };
            let reason =
                format!("its Rust code is nested more than {MAX_DEPTH} deep, or has chains of calls that are too long");
            self.strings.beyond.push(Unresolved { span: file.rust.span(place), reason });
        }
        self.strings
    }

    fn unresolved(&mut self, unresolved: Unresolved) {
        if self.is_new(&unresolved) {
            self.strings.unresolved.push(unresolved);
        }
    }

    /// Who makes a text too large to be followed must not hide a kernel by that.
    fn too_large(&mut self, unresolved: Unresolved) {
        if self.is_new(&unresolved) {
            self.strings.unread.push(unresolved);
        }
    }

    /// Neither must who takes too many steps to it, though that is no slip of a file.
    fn beyond(&mut self, unresolved: Unresolved) {
        if self.is_new(&unresolved) {
            self.strings.beyond.push(unresolved);
        }
    }

    fn is_new(&mut self, unresolved: &Unresolved) -> bool {
        self.unresolved.insert((unresolved.span.clone(), unresolved.reason.clone()))
    }

    fn unit(&mut self, in_file: usize, found: FoundText) {
        let FoundText { folded, code, use_span } = found;
        let Some(origin) = folded.origin else { return };
        let (name, path, start) = match &origin {
            Origin::Literal(span) => {
                (format!("{}:{}", span.file.display, span.start_line()), span.file.path.clone(), span.start)
            }
            Origin::File(file, _) => (file.display.clone(), file.path.clone(), 0),
        };
        self.strings.files.extend(folded.files);
        let is_at_call = match &origin {
            Origin::Literal(span) => span.file.path == use_span.file.path && use_span.range().contains(&span.start),
            Origin::File(..) => false,
        };
        let included_at = match origin {
            Origin::File(_, place) => place,
            Origin::Literal(_) => None,
        };
        // Equal text with other options is another unit. The first literal alone is not enough as a key: pieces around
        // it change the text.
        let text = digest::name_of([folded.text.as_str()]);
        let key = (path, start, format!("{} {text}", code.key()));
        if let Some(known) = self.seen.get(&key).copied() {
            if let Compiled::ByNvrtc(options) = &code {
                join(&mut self.strings.units[known], options);
            }
            return;
        }
        self.seen.insert(key, self.strings.units.len());
        // Several texts may have the same template as origin.
        let name = self.names.unique(&name);
        let package = self.code.files[in_file].package.and_then(|package| self.workspace.packages.get(package));
        let folder = use_span.file.path.parent().unwrap_or(Path::new(""));
        self.strings.units.push(TranslationUnit {
            name,
            package: package.map(|package| package.name.clone()),
            base: package.map_or(folder, |package| &package.root).to_path_buf(),
            code: match code {
                Compiled::ByNvrtc(options) => UnitCode::CudaText { text: folded.text, options },
                Compiled::ByDriver(options) => UnitCode::Ptx { text: folded.text, options },
            },
            use_site: (!is_at_call).then_some(use_span),
            included_at,
            launches: Vec::new(),
            shared: Vec::new(),
        });
    }
}

/// Merges another call that compiles the same text with equivalent options, given at another place.
fn join(unit: &mut TranslationUnit, other: &NvrtcOptions) {
    let UnitCode::CudaText { options, .. } = &mut unit.code else { return };
    options.must_fail &= other.must_fail;
    let more = other.ineffective.iter();
    let new: Vec<IneffectiveOption> = more.filter(|option| !options.ineffective.contains(option)).cloned().collect();
    options.ineffective.extend(new);
}

enum Outcome {
    Text(Box<FoundText>),
    Unresolved(Unresolved),
    /// A constant text that is larger than what is put together.
    TooLarge(Unresolved),
    /// A text that may be constant, behind more than is followed.
    Beyond(Unresolved),
    /// A build output, with the driver's options for it.
    Built {
        built: BuiltFile,
        options: DriverOptions,
        unresolved: Unresolved,
    },
    /// A machine-code file, and the place that names it.
    Machine {
        path: PathBuf,
        span: Span,
    },
}

/// A text, its compiler options, and the call that passes it.
struct FoundText {
    folded: Folded,
    code: Compiled,
    use_span: Span,
}

enum Compiled {
    ByNvrtc(NvrtcOptions),
    ByDriver(DriverOptions),
}

impl Compiled {
    /// The options as a key: other options make another unit of the same text.
    fn key(&self) -> String {
        match self {
            Self::ByNvrtc(options) => {
                let NvrtcOptions { arguments, program_name, unresolved, .. } = options;
                format!("{:?}", (arguments, program_name, unresolved))
            }
            Self::ByDriver(DriverOptions { arguments, unresolved, limit: _, compiled: _ }) => {
                format!("ptx {:?}", (arguments, unresolved))
            }
        }
    }
}

fn sink_calls(code: &mut Code<'_>, file: usize, asked_for: usize) -> Vec<SinkCall> {
    let calls = code.files[file].rust.calls.clone();
    let mut found = Vec::new();
    for call in calls {
        if code.is_template(file, call.range.start) || !is_asked_for(code, file, &call, asked_for) {
            continue;
        }
        let Some(sink) = sink_of(&code.files[file].rust, &call) else { continue };
        let arguments = count_arguments(&call.arguments);
        let is_foreign = !sink.arguments.contains(&arguments)
            || (sink.is_common && !code.mentions(file, sink.crates))
            // Inside a library's own sink, the text is a parameter; the calls of the sink are analysed instead.
            || is_within_sink(code, file, &call)
            // A call of the package's own wrapper of the same name: the sink call inside the wrapper is followed
            // instead.
            || (!call.is_method && !code.belongs_to(file, sink.crates) && is_wrapper(code, file, &call, arguments));
        if !is_foreign {
            let span = code.files[file].rust.span(call.range.clone());
            found.push(SinkCall { file, sink, call, span });
        }
    }
    found
}

/// Whether a call is in a file to check, or comes from a macro defined in one.
fn is_asked_for(code: &Code<'_>, file: usize, call: &Call, asked_for: usize) -> bool {
    let expanded = || code.files[file].rust.places().and_then(|places| places.expansion_at(call.range.start));
    let is_asked_for = |number: &usize| code.macros.file_of(*number) < asked_for;
    file < asked_for || expanded().is_some_and(|expanded| expanded.definitions.iter().any(is_asked_for))
}

/// Whether a call is inside the definition of a sink.
fn is_within_sink(code: &Code<'_>, file: usize, call: &Call) -> bool {
    let rust = &code.files[file].rust;
    rust.function_around(call.range.start).is_some_and(|index| is_sink(code, FunctionId { file, index }))
}

/// Whether a function is the definition of a sink.
fn is_sink(code: &Code<'_>, id: FunctionId) -> bool {
    let (function, file) = (code.function(id), id.file);
    let named = sinks::SINKS.iter().filter(|sink| sink.name == function.name && !sink.crates.is_empty());
    let parameters = function.parameters.len();
    named.into_iter().any(|sink| sink.arguments.contains(&parameters) && code.belongs_to(file, sink.crates))
}

/// Whether a call refers to a function of the workspace that itself calls a sink.
fn is_wrapper(code: &mut Code<'_>, file: usize, call: &Call, arguments: usize) -> bool {
    let functions = code.called(file, call, arguments);
    functions.into_iter().any(|id| {
        let rust = &code.files[id.file].rust;
        rust.calls_in(&rust.functions[id.index].body).any(|inner| sink_of(rust, inner).is_some())
    })
}

/// The sink that a call refers to, by its name or by an alias from `use … as`.
fn sink_of(rust: &scan::RustFile, call: &Call) -> Option<&'static Sink> {
    if call.is_method {
        return sinks::by_path(&call.path, true);
    }
    let (first, rest) = call.path.split_first()?;
    match rust.binding(first, call.range.start).ok().flatten().map(|binding| &binding.value) {
        Some(Value::Path(path)) => sinks::by_path(&[path.as_slice(), rest].concat(), false),
        Some(_) if rest.is_empty() => None,
        _ => sinks::by_path(&call.path, false),
    }
}

/// All texts that reach a call: its own arguments, or arguments of functions that pass them on.
fn follow(folder: &mut Folder<'_, '_>, call: &SinkCall) -> Vec<Outcome> {
    folder.start(Frames::default());
    let arguments = match fold::parse_list(call.call.arguments.clone()) {
        Ok(arguments) => arguments,
        Err(reason) => {
            folder.reach_all(call.file, call.call.arguments.clone(), true);
            let is_beyond = reason == fold::UNUSUAL_SIZE;
            let reason = explained(folder.code, call, reason);
            let unresolved = Unresolved { span: call.span.clone(), reason };
            return vec![if is_beyond { Outcome::Beyond(unresolved) } else { Outcome::Unresolved(unresolved) }];
        }
    };
    let Some(text) = arguments.get(call.sink.text) else { return Vec::new() };
    let mut outcomes = Vec::new();
    let mut ways = std::collections::VecDeque::from([Way::default()]);
    let mut count = 0;
    while let Some(way) = ways.pop_front() {
        count += 1;
        folder.start(way.frames());
        let mut followed = BTreeSet::new();
        for found in folder.texts(call.file, text) {
            let mut failure = match found {
                Ok(folded) => {
                    outcomes.extend(accept(folder, call, &way, &arguments, folded));
                    continue;
                }
                Err(failure) => failure,
            };
            if let FailureKind::Parameter(function, index) = failure.kind {
                if !followed.insert((function, index)) {
                    continue;
                }
                // A library's own function that takes texts: its calls are analysed on their own.
                if is_sink(folder.code, function) {
                    continue;
                }
                let left = MAX_WAYS.saturating_sub(count + ways.len());
                match longer_ways(folder, &way, (function, index), left) {
                    Longer::Ways(more) if !more.is_empty() => {
                        ways.extend(more);
                        continue;
                    }
                    Longer::Internal => continue,
                    // A function that loads images may have the name of many others.
                    Longer::Beyond if call.sink.takes != Takes::Image => failure = Failure::beyond_calls(),
                    Longer::Ways(_) | Longer::Beyond => {}
                }
            }
            outcomes.extend(refuse(folder, call, &way, &arguments, failure));
        }
    }
    outcomes
}

/// What leads to a parameter of a function.
enum Longer {
    /// The ways through each of its callers.
    Ways(Vec<Way>),
    /// It is called inside sinks alone.
    Internal,
    /// More callers than are followed.
    Beyond,
}

/// Extends a call path by each caller of a function. More than `at_most` are not followed.
fn longer_ways(
    folder: &mut Folder<'_, '_>,
    way: &Way,
    (function, index): (FunctionId, usize),
    at_most: usize,
) -> Longer {
    let is_circle = way.0.iter().any(|step| step.function == function);
    if is_circle {
        return Longer::Ways(Vec::new());
    }
    let parameters = folder.code.function(function).parameters.len();
    let mut calls = folder.code.calls_of(function, MAX_WAYS + 1);
    let all = calls.len();
    calls.retain(|(file, call)| !is_within_sink(folder.code, *file, call));
    let is_internal = calls.len() < all;
    if calls.is_empty() {
        return if is_internal { Longer::Internal } else { Longer::Ways(Vec::new()) };
    }
    let is_deep = way.0.len() >= MAX_CALLERS_DEEP;
    if is_deep || calls.len() > at_most.min(MAX_WAYS_OF_ALL.saturating_sub(folder.ways_of_all)) {
        return Longer::Beyond;
    }
    folder.ways_of_all += calls.len();
    let mut ways = Vec::new();
    for (file, call) in calls {
        // If the arguments cannot be parsed, the parameter stays unknown and is reported as such.
        let mut arguments = fold::parse_list(call.arguments.clone()).unwrap_or_default();
        let skipped = arguments.len().saturating_sub(parameters);
        arguments.drain(..skipped);
        let mut longer = way.clone();
        longer.0.push(Step { function, file, call, arguments, wanted: index });
        ways.push(longer);
    }
    Longer::Ways(ways)
}

/// A text that reaches a call, if it is of the kind that the call takes.
fn accept(
    folder: &mut Folder<'_, '_>,
    call: &SinkCall,
    way: &Way,
    arguments: &[Expr],
    mut folded: Folded,
) -> Option<Outcome> {
    let length = folded.text.as_str().trim_end_matches('\0').len();
    if length < folded.text.as_str().len() {
        folded.text = folded.text.slice(0..length);
    }
    let use_span = way
        .0
        .last()
        .map_or_else(|| call.span.clone(), |step| folder.code.files[step.file].rust.span(step.call.range.clone()));
    if folded.origin.is_none() {
        let span = folder.span(call.file, &arguments[call.sink.text]);
        let reason = "its text stands in no literal and no file".to_string();
        return Some(Outcome::Unresolved(Unresolved { span, reason })).filter(|_| call.sink.takes != Takes::Image);
    }
    let code = match call.sink.takes {
        Takes::Cuda(options) => {
            // Another library's function of the same name may take other texts.
            let is_certain = call.sink.owner.is_none() && way.0.iter().all(|step| !step.call.is_method);
            if !is_certain && !folded.text.as_str().contains("__global__") {
                return None;
            }
            let must_fail = way.0.is_empty() && expected::of_call(&folder.code.files[call.file].rust, call, options);
            Compiled::ByNvrtc(NvrtcOptions { must_fail, ..options_of(folder, call, options, arguments) })
        }
        Takes::Ptx | Takes::Image if marker::is_ptx(folded.text.as_str()) => {
            Compiled::ByDriver(driver_options_of(folder, call, arguments))
        }
        Takes::Machine => {
            let reason = "it is handed over as machine code, and is text".to_string();
            return Some(Outcome::Beyond(Unresolved {
                span: folder.span(call.file, &arguments[call.sink.text]),
                reason,
            }));
        }
        Takes::Ptx | Takes::Image => return None,
        Takes::File => return file_at(folder, call, arguments, folded.text.as_str(), use_span),
    };
    Some(Outcome::Text(Box::new(FoundText { folded, code, use_span })))
}

/// The file that a program opens at run time: in the folder of the package, of the workspace, or of the Rust file.
fn file_at(
    folder: &mut Folder<'_, '_>,
    call: &SinkCall,
    arguments: &[Expr],
    path: &str,
    use_span: Span,
) -> Option<Outcome> {
    let workspace = folder.code.workspace;
    let package = folder.code.files[call.file].package.and_then(|package| workspace.packages.get(package));
    let beside = use_span.file.path.parent().map(Path::to_path_buf);
    let roots = [package.map(|package| package.root.clone()), Some(workspace.root.clone()), beside];
    let mut candidates = roots.into_iter().flatten().map(|root| lmem_base::source::normalize(&root.join(path)));
    let is_file = |place: &PathBuf| {
        places::asked_for(place);
        place.is_file()
    };
    let Some(found) = candidates.clone().find(is_file) else {
        let reason = format!("it loads `{path}`, which is not there");
        let built = BuiltFile::At(candidates.next().unwrap_or_else(|| PathBuf::from(path)));
        let options = driver_options_of(folder, call, arguments);
        return Some(Outcome::Built { built, options, unresolved: Unresolved { span: use_span, reason } });
    };
    if workspace.may_read(&found) && lmem_unit::machine::is_machine_code(&found) {
        return Some(Outcome::Machine { path: found, span: use_span });
    }
    Some(match folder.file(&found, path, None) {
        // The driver accepts only PTX and machine code.
        Ok(folded) if !marker::is_ptx(folded.text.as_str()) && !has_ending(&found, &["ptx"]) => {
            let reason = format!("it loads `{path}`, which is neither PTX nor machine code");
            Outcome::Unresolved(Unresolved { span: use_span, reason })
        }
        Ok(folded) => {
            let code = Compiled::ByDriver(driver_options_of(folder, call, arguments));
            Outcome::Text(Box::new(FoundText { folded, code, use_span }))
        }
        Err(Failure { reason, kind: FailureKind::Beyond }) => Outcome::Beyond(Unresolved { span: use_span, reason }),
        Err(Failure { reason, .. }) => Outcome::Unresolved(Unresolved { span: use_span, reason }),
    })
}

/// The outcome for an unknown text.
fn refuse(
    folder: &mut Folder<'_, '_>,
    call: &SinkCall,
    way: &Way,
    arguments: &[Expr],
    failure: Failure,
) -> Option<Outcome> {
    let is_image = call.sink.takes == Takes::Image;
    let is_loaded = !matches!(call.sink.takes, Takes::Cuda(_) | Takes::File);
    let is_said_elsewhere = match &failure.kind {
        FailureKind::Machine(..) => is_loaded,
        FailureKind::Elsewhere | FailureKind::Built(_) => true,
        FailureKind::Name | FailureKind::Parameter(..) => is_image,
        FailureKind::Made | FailureKind::Binary | FailureKind::TooLarge | FailureKind::Beyond => false,
    };
    // Of an unknown image nothing is said here: what is among its parts has to be told of by others.
    if !matches!(failure.kind, FailureKind::Name | FailureKind::Parameter(..)) || !is_image {
        folder.reach_all(call.file, call.call.arguments.clone(), !is_said_elsewhere);
        for step in &way.0 {
            folder.reach_all(step.file, step.call.arguments.clone(), !is_said_elsewhere);
        }
    }
    let span = match way.0.last() {
        None => folder.span(call.file, &arguments[call.sink.text]),
        Some(step) => match step.arguments.get(step.wanted) {
            Some(argument) => folder.span(step.file, argument),
            None => folder.code.files[step.file].rust.span(step.call.range.clone()),
        },
    };
    let reason = match call.sink.takes {
        Takes::Machine if failure.reason.starts_with("its text") => {
            failure.reason.replacen("its text", "its machine code", 1)
        }
        _ => explained(folder.code, call, failure.reason),
    };
    let unresolved = Unresolved { span, reason };
    match failure.kind {
        FailureKind::Machine(path, span) if is_said_elsewhere => Some(Outcome::Machine { path, span }),
        FailureKind::Elsewhere => None,
        FailureKind::TooLarge => Some(Outcome::TooLarge(unresolved)),
        FailureKind::Beyond => Some(Outcome::Beyond(unresolved)),
        // Machine code that cannot be read, or is packed, has kernels that nobody checks.
        FailureKind::Binary if call.sink.takes == Takes::Machine => Some(Outcome::Beyond(unresolved)),
        FailureKind::Built(built) => {
            let options = driver_options_of(folder, call, arguments);
            Some(Outcome::Built { built, options, unresolved })
        }
        _ if is_said_elsewhere => None,
        _ => Some(Outcome::Unresolved(unresolved)),
    }
}

/// A reason, extended by the reason why the macro around the call is not understood.
fn explained(code: &Code<'_>, call: &SinkCall, reason: String) -> String {
    let number = code.definition_at(call.file, call.call.range.start).filter(|_| reason.ends_with(fold::OF_MACRO));
    match number.and_then(|number| code.macros.failure(number)) {
        Some(why) => format!("{reason}: {why}"),
        None => reason,
    }
}

fn options_of(folder: &mut Folder<'_, '_>, call: &SinkCall, options: Options, arguments: &[Expr]) -> NvrtcOptions {
    match options {
        Options::None => NvrtcOptions::default(),
        Options::Cudarc(index) => match arguments.get(index) {
            Some(expression) => options::cudarc(folder, call.file, expression),
            None => NvrtcOptions::default(),
        },
        Options::Function(name) => options::of_list(folder, call.file, &call.call, name, false, 1),
        // Such a program may be used for PTX or for machine code; this is not tracked, so no option counts as
        // ineffective.
        Options::Method(name) => {
            let options = options::of_list(folder, call.file, &call.call, name, true, 0);
            NvrtcOptions { ineffective: Vec::new(), ..options }
        }
        Options::Pointers(name) => options::of_pointers(folder, call.file, &call.call, name),
    }
}

fn driver_options_of(folder: &mut Folder<'_, '_>, call: &SinkCall, arguments: &[Expr]) -> DriverOptions {
    match call.sink.driver {
        Driver::None => DriverOptions::default(),
        Driver::Cust(index) => driver::cust(folder, call.file, &arguments[index]),
        Driver::Pointers(index) => driver::counted(folder, call.file, &arguments[index]),
    }
}

#[cfg(test)]
mod tests;
