//! A lint's finding, and wording shared by lints.

use lmem_base::diagnostic::{Label, LocalAccess, Suggestion, Uniformity};
use lmem_base::source::Span;
use lmem_base::words::{MAX_LABEL, UNIFORM, bytes, object_label};
use lmem_frame::{Access, Address, Sharing, StackObject, StackObjectKind, Variable};
use nv_code::AccessKind;
use nv_code::dataflow::Provenance;

/// Number of inlined frames to name in a note; deeper ones are inside a library.
const SHOWN_LEVELS: usize = 4;

/// A lint's answer: headline, labels, notes, help and suggestions.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    pub message: String,
    pub primary: Option<Label>,
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
    pub suggestions: Vec<Suggestion>,
    /// Why there are no suggestions.
    pub untried: Option<String>,
    pub variable: Option<String>,
    pub variable_type: Option<String>,
    pub uniformity: Option<Uniformity>,
    pub loop_depth: u32,
    pub loads: u64,
    pub stores: u64,
    /// Size of the variable alone, for the label of its declaration.
    pub size: Option<u64>,
    /// Key of findings with the same cause, which people read as one diagnostic.
    pub cause: Option<String>,
    /// The parts of the headline, if it has no others: the object in local memory, and the reason.
    pub subject: Option<(String, String)>,
    /// Labels or notes quote figures that may not hold on other architectures.
    pub quotes_figures: bool,
}

impl Finding {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Sets the primary label; the first one that is set stays.
    pub fn primary(mut self, span: Option<&Span>, text: impl Into<String>) -> Self {
        if let Some(span) = span.filter(|_| self.primary.is_none()) {
            self.primary = Some(Label { span: span.clone(), text: text.into() });
        }
        self
    }

    pub fn label(mut self, span: Option<&Span>, text: impl Into<String>) -> Self {
        let label = span.map(|span| Label { span: span.clone(), text: text.into() });
        // The primary label is not repeated.
        self.labels.extend(label.filter(|label| self.primary.as_ref() != Some(label) && !self.labels.contains(label)));
        self
    }

    /// Labels the index of the guilty access, else the whole access. This label is primary if no declaration is known.
    pub fn access(self, object: &StackObject, access: &Access, text: impl Into<String>) -> Self {
        let finding = match self.primary {
            Some(_) => self.label(access.index.as_ref().or(access.span.as_ref()), text),
            None => self.primary(access.span.as_ref(), text),
        };
        let passed = object.variable.as_ref().filter(|_| access.via.is_some());
        if let Some(variable) = passed {
            return finding.label(access.via.as_ref(), format!("`{}` passed here", variable.name));
        }
        let callers: Vec<String> =
            object.inlined_at(access).iter().take(SHOWN_LEVELS).map(|span| line_of(span, None)).collect();
        match callers.is_empty() {
            true => finding,
            false => finding.note(format!("access inlined at {}", callers.join(", at "))),
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

    /// Offers a suggestion; a recompilation later drops it if it does not help.
    pub fn suggest(mut self, suggestion: Option<Suggestion>) -> Self {
        self.suggestions.extend(suggestion.filter(|suggestion| !suggestion.edits.is_empty()));
        self
    }
}

impl Finding {
    /// Where nothing is suggested, says why.
    pub fn or_untried(self, reason: impl FnOnce() -> Option<String>) -> Self {
        let untried = if self.suggestions.is_empty() { reason() } else { None };
        Self { untried, ..self }
    }
}

/// Starts a finding on a variable: the figures, and the declaration as primary label.
pub fn object_finding(object: &StackObject, guilty: Option<&Access>, message: String) -> Finding {
    let mut finding = Finding::new(message);
    finding.loads = object.count(AccessKind::Load);
    finding.stores = object.count(AccessKind::Store);
    finding.loop_depth = guilty.map_or(0, |access| access.loop_depth);
    if let Some(variable) = &object.variable {
        finding.variable = Some(variable.name.clone());
        finding.variable_type = Some(variable.type_text.clone());
        let size = variable.bytes.unwrap_or(object.bytes - object.padding);
        let traffic = (finding.loads, finding.stores);
        finding.size = Some(size);
        finding = finding.primary(Some(&variable.span), object_label(&variable.name, size, object.bytes, traffic));
        let of_library = object
            .math_calls_beside()
            .into_iter()
            .map(|(name, span)| format!("the slow path of `{name}` ({})", line_of(&span, Some(&variable.span))));
        let named = variable.sharing.iter().map(|other| named_apart(other, variable));
        let sharing: Vec<String> = named.chain(of_library).collect();
        if !sharing.is_empty() {
            let verb = if sharing.len() == 1 { "shares" } else { "share" };
            finding =
                finding.note(format!("{} {verb} this memory: their lifetimes do not overlap", sharing.join(", ")));
        }
    }
    if let Some(Address::Computed(sources)) = guilty.map(|access| &access.address) {
        finding.uniformity = sources.uniformity();
    }
    finding
}

/// The name of a variable that shares the memory of another one; if the name alone would not tell which, with its line.
fn named_apart(other: &Sharing, variable: &Variable) -> String {
    let is_same = |known: &&Sharing| known.name == other.name;
    let is_ambiguous = other.name == variable.name || variable.sharing.iter().filter(is_same).count() > 1;
    match other.span.as_ref().filter(|_| is_ambiguous) {
        Some(span) => format!("`{}` at {}", other.name, line_of(span, Some(&variable.span))),
        None => format!("`{}`", other.name),
    }
}

/// Limit on statements that are kept of an object; the hottest ones have labels.
const MAX_ACCESSES: usize = 32;

/// The statements that access an object, those in the innermost loops first. Of spilled values, the statements that
/// compute and that need them.
pub fn accesses(object: &StackObject) -> Vec<LocalAccess> {
    if let StackObjectKind::Spills(spills) = &object.kind {
        let at = |span: &Option<Span>, variable: &Option<String>, (loads, stores)| {
            let spans: Vec<Span> = span.iter().cloned().collect();
            (!spans.is_empty()).then(|| LocalAccess { spans, variable: variable.clone(), loads, stores })
        };
        let of_group = spills.groups.iter().flat_map(|group| {
            let variable = group.variable.as_ref().map(|variable| variable.name.clone());
            [at(&group.span, &variable, (0, group.values)), at(&group.refill_span, &variable, (group.refills, 0))]
        });
        return of_group.flatten().take(MAX_ACCESSES).collect();
    }
    let mut deepest: Vec<&Access> = object.accesses.iter().collect();
    deepest.sort_by_key(|access| std::cmp::Reverse(access.loop_depth));
    let local = deepest.into_iter().take(MAX_ACCESSES).map(|access| LocalAccess {
        spans: [&access.span, &access.index, &access.via].into_iter().flatten().cloned().collect(),
        variable: object.variable.as_ref().map(|variable| variable.name.clone()),
        loads: if access.kind == AccessKind::Load { access.count } else { 0 },
        stores: if access.kind == AccessKind::Store { access.count } else { 0 },
    });
    local.filter(|access| !access.spans.is_empty()).collect()
}

/// Starts a finding with the usual headline: the object in local memory, and the reason.
pub fn in_local_memory(object: &StackObject, guilty: Option<&Access>, reason: &str) -> Finding {
    let subject = describe(object);
    let mut finding = object_finding(object, guilty, format!("{subject} is in local memory: {reason}"));
    finding.subject = object.variable.is_some().then(|| (subject, reason.to_string()));
    finding
}

/// ```window` (`float[32]`, 128 B)``, or a description without a name.
pub fn describe(object: &StackObject) -> String {
    match &object.variable {
        Some(variable) => {
            let size = variable.bytes.unwrap_or(object.bytes - object.padding);
            let what = if variable.is_parameter { "parameter " } else { "" };
            format!("{what}`{}` (`{}`, {})", variable.name, short_type(&variable.type_text), bytes(size))
        }
        None => format!("an object of {}", bytes(object.bytes)),
    }
}

/// Maximum length of a type in a headline, in characters.
const MAX_TYPE: usize = 24;

/// A type shortened for a headline: `Box<…>[8]` for `(anonymous namespace)::Box<float, 64, Layout<4>>[8]`. The whole type is
/// in the source, and in JSON.
fn short_type(text: &str) -> String {
    let text = text.replace("(anonymous namespace)::", "");
    let text = match (text.find("{unnamed type#"), text.find('}')) {
        (Some(begin), Some(end)) if begin < end => format!("{}unnamed{}", &text[..begin], &text[end + 1..]),
        _ => text,
    };
    if text.chars().count() <= MAX_TYPE {
        return text;
    }
    // What follows the template arguments says how much there is of it.
    let arguments = text.find('<').zip(text.rfind('>')).filter(|(begin, end)| begin < end);
    let text = arguments.map_or_else(|| text.clone(), |(begin, end)| format!("{}<…{}", &text[..begin], &text[end..]));
    match text.char_indices().nth(MAX_TYPE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// A label with the loop around an access, if there is room: `divergent, loaded from memory (loop at line 9)`.
pub fn in_loop(text: &str, object: &StackObject, access: &Access) -> String {
    let place = object.source_loop(access).map(|found| line_of(&found.span, access.span.as_ref()));
    let around = match (access.loop_depth, place) {
        (0, _) => return text.to_string(),
        (1, Some(place)) => vec![format!("loop at {place}"), "in a loop".to_string()],
        (depth, Some(place)) => vec![format!("loop at {place}, depth {depth}"), format!("loop depth {depth}")],
        (1, None) => vec!["in a loop".to_string()],
        (depth, None) => vec![format!("loop depth {depth}")],
    };
    let labels = around.into_iter().map(|around| format!("{text} ({around})"));
    labels.into_iter().find(|label| label.chars().count() <= MAX_LABEL).unwrap_or_else(|| text.to_string())
}

/// `line 20`, or `scan.cuh:20` if it is in another file than `near`.
pub fn line_of(span: &Span, near: Option<&Span>) -> String {
    match near.filter(|near| near.file.path == span.file.path) {
        Some(_) => format!("line {}", span.start_line()),
        None => format!("{}:{}", span.file.display, span.start_line()),
    }
}

/// The provenance and uniformity of an index: `divergent, loaded from memory`.
pub fn origin(sources: &Provenance) -> String {
    let parts = [
        (sources.loaded_elsewhere, "memory"),
        (sources.loaded && !sources.loaded_elsewhere, "local memory"),
        (sources.of_warp, "other lanes"),
        (sources.thread_index, "the thread index"),
        (sources.block_index, "the block index"),
        (sources.parameter, "a parameter"),
        (sources.argument, "an argument"),
        (sources.loop_carried, "a loop-carried value"),
        (sources.compared && !sources.loaded, "a comparison"),
        (sources.induction && !sources.loop_carried, "a loop counter"),
    ];
    let named: Vec<&str> = parts.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
    let origin = match named.as_slice() {
        [] => "a run-time value".to_string(),
        [memory @ ("memory" | "local memory")] => format!("loaded from {memory}"),
        [only] => format!("from {only}"),
        [first, second] => format!("from {first} and {second}"),
        // Two origins tell enough, and a label has no room for more.
        [first, second, ..] => format!("from {first}, {second}, …"),
    };
    match sources.uniformity() {
        Some(Uniformity::Uniform) => format!("{UNIFORM}{origin}"),
        Some(Uniformity::PerThread) => format!("divergent, {origin}"),
        None => origin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_headlines_are_short_and_keep_their_sizes() {
        assert_eq!(short_type("(anonymous namespace)::P[8]"), "P[8]");
        assert_eq!(short_type("{unnamed type#1}[20]"), "unnamed[20]");
        assert_eq!(short_type("detail::Fragment<accumulator, 16, 16, 16, float>[4]"), "detail::Fragment<…>[4]");
        assert_eq!(short_type("float[4][8][16]"), "float[4][8][16]");
        assert_eq!(short_type(&"x".repeat(30)), format!("{}…", "x".repeat(24)));
    }

    #[test]
    fn an_index_tells_where_it_comes_from() {
        let shuffled = Provenance { of_warp: true, unknown: true, ..Provenance::default() };
        assert_eq!(origin(&shuffled), "from other lanes");
        let summed = Provenance { parameter: true, divergent: Some(true), ..shuffled };
        assert_eq!(origin(&summed), "divergent, from other lanes and a parameter");
        assert_eq!(origin(&Provenance { unknown: true, ..Provenance::default() }), "a run-time value");
    }
}
