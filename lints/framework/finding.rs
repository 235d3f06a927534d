//! A lint's answer, and the words that lints share.

use lmem_base::diagnostic::{Label, Suggestion, Uniformity};
use lmem_base::source::Span;
use lmem_base::words::plural;
use lmem_frame::{Access, Address, StackObject};
use nv_code::AccessKind;
use nv_code::dataflow::Sources;

/// Levels of inlining that a note names; deeper ones are the inside of a library.
const SHOWN_LEVELS: usize = 4;

/// A lint's answer: what is, where, why, and what to do.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    pub message: String,
    pub primary: Option<Label>,
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
    pub suggestions: Vec<Suggestion>,
    pub variable: Option<String>,
    pub variable_type: Option<String>,
    pub uniformity: Option<Uniformity>,
    pub loop_depth: u32,
    pub loads: u64,
    pub stores: u64,
}

impl Finding {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The place that the finding is filed under; the first one given stays.
    pub fn primary(mut self, span: Option<&Span>, text: impl Into<String>) -> Self {
        if let Some(span) = span.filter(|_| self.primary.is_none()) {
            self.primary = Some(Label { span: span.clone(), text: text.into() });
        }
        self
    }

    pub fn label(mut self, span: Option<&Span>, text: impl Into<String>) -> Self {
        let label = span.map(|span| Label { span: span.clone(), text: text.into() });
        // What the place of the finding says already is not said again.
        self.labels.extend(label.filter(|label| self.primary.as_ref() != Some(label) && !self.labels.contains(label)));
        self
    }

    /// Labels an access of an object with its figures; without a declaration it is the place of the finding.
    pub fn access(self, object: &StackObject, access: &Access) -> Self {
        let text = traffic(object, access);
        let finding = match self.primary {
            Some(_) => self.label(access.span.as_ref(), text),
            None => self.primary(access.span.as_ref(), text),
        };
        let finding = match (&access.via, &object.variable) {
            (Some(_), Some(variable)) => {
                finding.label(access.via.as_ref(), format!("`{}` is handed to the function here", variable.name))
            }
            _ => finding,
        };
        let callers: Vec<String> =
            object.inlined_at(access).iter().take(SHOWN_LEVELS).map(|span| line_of(span, None)).collect();
        match callers.is_empty() {
            true => finding,
            false => finding.note(format!("the access was inlined at {}", callers.join(", at "))),
        }
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Offers edits; those that a recompilation shows not to help are dropped later.
    pub fn suggest(mut self, suggestion: Option<Suggestion>) -> Self {
        self.suggestions.extend(suggestion.filter(|suggestion| !suggestion.edits.is_empty()));
        self
    }
}

/// The start that findings on an array or variable share: the figures, and the declaration as the place.
pub fn object_finding(object: &StackObject, guilty: Option<&Access>, message: String) -> Finding {
    let mut finding = Finding::new(message);
    finding.loads = object.count(AccessKind::Load);
    finding.stores = object.count(AccessKind::Store);
    finding.loop_depth = guilty.map_or(0, |access| access.loop_depth);
    if let Some(variable) = &object.variable {
        finding.variable = Some(variable.name.clone());
        finding.variable_type = Some(variable.type_text.clone());
        finding = finding.primary(Some(&variable.span), format!("{} in every thread", bytes(object.bytes)));
        let sharing: Vec<String> = variable.sharing.iter().map(|name| format!("`{name}`")).collect();
        if !sharing.is_empty() {
            finding = finding.note(format!("{} shares these bytes: their lifetimes are apart", sharing.join(", ")));
        }
    }
    if let Some(Address::Computed(sources)) = guilty.map(|access| &access.address) {
        finding.uniformity = sources.uniformity();
    }
    finding
}

/// ``array `window` (`float[32]`, 128 bytes)``, or what can be said without a name.
pub fn describe(object: &StackObject) -> String {
    match &object.variable {
        Some(variable) => {
            let what = match variable.kind {
                _ if variable.is_parameter => "parameter",
                cuda_syntax::tree::DeclarationKind::Array => "array",
                _ => "variable",
            };
            let size = variable.bytes.unwrap_or(object.bytes - object.padding);
            format!("{what} `{}` (`{}`, {})", variable.name, variable.type_text, bytes(size))
        }
        None => format!("an array of {}", bytes(object.bytes)),
    }
}

/// `32 local loads and 1 store, inside the loop at line 20`: all of an object's accesses at the place of one.
pub fn traffic(object: &StackObject, access: &Access) -> String {
    let count = |kind| {
        let here = object.accesses.iter().filter(|other| other.kind == kind && other.is_beside(access));
        here.map(|other| other.count).sum::<u64>()
    };
    let what = match (count(AccessKind::Load), count(AccessKind::Store)) {
        (0, stores) => plural(stores, "local store"),
        (loads, 0) => plural(loads, "local load"),
        (loads, stores) => format!("{} and {}", plural(loads, "local load"), plural(stores, "store")),
    };
    let place = object.source_loop(access).map(|found| line_of(&found.span, access.span.as_ref()));
    match (access.loop_depth, place) {
        (0, _) => what,
        (1, Some(place)) => format!("{what}, inside the loop at {place}"),
        (1, None) => format!("{what}, inside a loop"),
        (depth, Some(place)) => format!("{what}, inside the loop at {place}, {depth} loops deep"),
        (depth, None) => format!("{what}, {depth} loops deep"),
    }
}

/// `line 20`, or `scan.cuh:20` where that is another file than the one that is spoken of.
pub fn line_of(span: &Span, near: Option<&Span>) -> String {
    match near.filter(|near| near.file.path == span.file.path) {
        Some(_) => format!("line {}", span.start_line()),
        None => format!("{}:{}", span.file.display, span.start_line()),
    }
}

/// Why an index is not a constant, as the end of "it depends on …".
pub fn origin(sources: &Sources) -> String {
    let parts = [
        (sources.loaded, "loaded data"),
        (sources.thread_index, "the thread index"),
        (sources.block_index, "the block index"),
        (sources.parameter, "a kernel parameter"),
        (sources.argument, "an argument of the function"),
        (sources.carried, "a value that changes from iteration to iteration"),
        (sources.counter && !sources.carried, "a loop counter"),
    ];
    let named: Vec<&str> = parts.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
    match named.as_slice() {
        [] => "a value of the run".to_string(),
        [only] => (*only).to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 byte`, `128 bytes`
pub fn bytes(count: u64) -> String {
    plural(count, "byte")
}
