//! One JSON object per line, in the form of cargo's messages, which editors and CI tools understand.

use std::collections::HashMap;
use std::io;

use serde::Serialize;

use lmem_base::diagnostic::{
    Applicability, BaselineTally, Code, Diagnostic, Evidence, FlagOrigin, Footprint, KernelInstance, Label,
    LocalAccess, PartitionTally, Rejected, Report, Severity, SinceTally, Suggestion, Suppression, Uniformity,
    VerifiedKernel,
};
use lmem_base::gpu::Arch;
use lmem_base::inert::without_commands;
use lmem_base::source::Span;

use super::kernels::{ListedKernel, listed};
use super::position::{Columns, Region, range};
use super::{Context, DEFAULT_WIDTH, PackageInfo, facts, human};

/// Limit on the lines of source that one span shows.
const MAX_LINES: usize = 100;

/// Limit on the characters of such a line: a file may have but one.
const MAX_LINE: usize = 1000;

pub(super) fn render(report: &Report, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    let packages: HashMap<&str, &PackageInfo> =
        cx.packages.iter().map(|package| (package.name.as_str(), package)).collect();
    for (diagnostic, fingerprint) in report.diagnostics.iter().zip(facts::fingerprints(&report.diagnostics)) {
        let package = diagnostic.package.as_deref().and_then(|name| packages.get(name));
        write_line(&CompilerMessage::new(diagnostic, fingerprint, package.copied(), cx), out)?;
    }
    let failed = report.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let summary = &report.summary;
    let success = !failed && summary.failed_units == 0 && !summary.interrupted && !summary.cargo_failed;
    let suppressions: Vec<_> = report.suppressions.iter().map(SuppressionMessage::new).collect();
    let (baseline, since) = (summary.baseline.as_ref(), summary.since.as_ref());
    let (partition, refuted) = (summary.partition, Some(summary.refuted).filter(|count| *count > 0));
    let kernels = report.kernels.as_ref().map(listed);
    let facts = RunFacts { suppressions, baseline, since, partition, refuted, kernels };
    let lmem = facts.is_something().then_some(facts);
    write_line(&BuildFinished { reason: "build-finished", success, lmem }, out)
}

fn write_line(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let line = serde_json::to_string(value)?;
    writeln!(out, "{line}")
}

#[derive(Serialize)]
struct BuildFinished<'a> {
    reason: &'static str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lmem: Option<RunFacts<'a>>,
}

/// Facts about the run. They are part of another message, because cargo's readers would not accept a message of a new
/// kind.
#[derive(Serialize)]
struct RunFacts<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<SuppressionMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a BaselineTally>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'a SinceTally>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<PartitionTally>,
    /// All checked kernels, with `--kernels`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernels: Option<Vec<ListedKernel<'a>>>,
    /// Edits that compute something else, and are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    refuted: Option<usize>,
}

impl RunFacts<'_> {
    fn is_something(&self) -> bool {
        let Self { suppressions, baseline, since, partition, refuted, kernels } = self;
        !suppressions.is_empty()
            || baseline.is_some()
            || since.is_some()
            || partition.is_some()
            || refuted.is_some()
            || kernels.is_some()
    }
}

/// A comment that silences findings, and its scope.
#[derive(Serialize)]
struct SuppressionMessage<'a> {
    directive: &'static str,
    lints: &'a [String],
    reason: Option<&'a str>,
    span: Place<'a>,
    scope: Place<'a>,
    /// The macro whose uses are also in its scope.
    #[serde(rename = "macro")]
    in_macro: Option<&'a str>,
    silenced: usize,
}

impl<'a> SuppressionMessage<'a> {
    fn new(suppression: &'a Suppression) -> Self {
        Self {
            directive: suppression.directive,
            lints: &suppression.lints,
            reason: suppression.reason.as_deref(),
            span: Place::new(&suppression.span),
            scope: Place::new(&suppression.scope),
            in_macro: suppression.in_macro.as_deref(),
            silenced: suppression.silenced,
        }
    }
}

/// A range of a file, counted as in spans.
#[derive(Serialize)]
struct Place<'a> {
    file_name: &'a str,
    byte_start: usize,
    byte_end: usize,
    line_start: usize,
    line_end: usize,
    column_start: usize,
    column_end: usize,
}

impl<'a> Place<'a> {
    fn new(span: &'a Span) -> Self {
        let (bytes, region) = (range(span), Region::new(span, Columns::Characters));
        Self {
            file_name: &span.file.display,
            byte_start: bytes.start,
            byte_end: bytes.end,
            line_start: region.start_line,
            line_end: region.end_line,
            column_start: region.start_column,
            column_end: region.end_column,
        }
    }
}

#[derive(Serialize)]
struct CompilerMessage<'a> {
    reason: &'static str,
    package_id: &'a str,
    manifest_path: String,
    target: CargoTarget<'a>,
    message: Message<'a>,
    lmem: Option<LmemFields<'a>>,
}

impl<'a> CompilerMessage<'a> {
    fn new(diagnostic: &'a Diagnostic, fingerprint: String, package: Option<&'a PackageInfo>, cx: &Context) -> Self {
        let manifest_path = package.map_or_else(|| cx.root.join("Cargo.toml"), |package| package.manifest_path.clone());
        Self {
            reason: "compiler-message",
            package_id: package.map_or("lmem#outside-packages", |package| package.id.as_str()),
            manifest_path: manifest_path.to_string_lossy().into_owned(),
            target: package
                .map_or_else(|| CargoTarget::outside(diagnostic, cx), |package| CargoTarget::Package(&package.target)),
            message: Message::new(diagnostic, cx),
            lmem: LmemFields::new(diagnostic, fingerprint),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum CargoTarget<'a> {
    Package(&'a cargo_metadata::Target),
    Outside(OutsideTarget),
}

/// A file outside all packages. cargo's readers reject a message without a target, so the file is assigned to a build
/// script, which is what compiles kernels in other projects.
#[derive(Serialize)]
struct OutsideTarget {
    kind: [&'static str; 1],
    crate_types: [&'static str; 1],
    name: &'static str,
    src_path: String,
    edition: &'static str,
    doc: bool,
    doctest: bool,
    test: bool,
}

impl CargoTarget<'_> {
    fn outside(diagnostic: &Diagnostic, cx: &Context) -> Self {
        let path = diagnostic.primary.as_ref().map_or(cx.root, |label| &label.span.file.path);
        Self::Outside(OutsideTarget {
            kind: ["custom-build"],
            crate_types: ["bin"],
            name: "lmem",
            src_path: path.to_string_lossy().into_owned(),
            edition: "2024",
            doc: false,
            doctest: false,
            test: false,
        })
    }
}

#[derive(Serialize)]
struct Message<'a> {
    #[serde(rename = "$message_type")]
    message_type: &'static str,
    level: &'static str,
    message: &'a str,
    code: Option<MessageCode>,
    spans: Vec<SpanMessage<'a>>,
    children: Vec<Child<'a>>,
    rendered: String,
}

#[derive(Serialize)]
struct MessageCode {
    code: String,
    explanation: Option<String>,
}

impl<'a> Message<'a> {
    fn new(diagnostic: &'a Diagnostic, cx: &Context) -> Self {
        let primary = diagnostic.primary.iter().map(|label| SpanMessage {
            lmem: LabelFacts::new(label, true, diagnostic.evidence.as_ref()),
            ..SpanMessage::new(label, true)
        });
        let secondary = diagnostic.secondary.iter().map(|label| SpanMessage {
            lmem: LabelFacts::new(label, false, diagnostic.evidence.as_ref()),
            ..SpanMessage::new(label, false)
        });
        let notes = facts::notes(diagnostic).into_iter().map(|note| Child::new("note", note));
        let suggestions = diagnostic.suggestions.iter().map(|suggestion| Child::suggestion(diagnostic, suggestion));
        let help = diagnostic.help.iter().map(|help| Child::new("help", help.message.clone()));
        let code = Some(diagnostic.code.id()).filter(|code| !code.is_empty());
        let plain = Context { color: false, width: DEFAULT_WIDTH, ..*cx };
        Self {
            message_type: "diagnostic",
            level: facts::severity_word(diagnostic.severity),
            message: &diagnostic.message,
            code: code.map(|code| MessageCode { code, explanation: None }),
            spans: primary.chain(secondary).collect(),
            children: notes.chain(help).chain(suggestions).collect(),
            rendered: without_commands(&human::text(diagnostic, &plain)).into_owned(),
        }
    }
}

/// A note or help message. It has no location unless it suggests an edit.
#[derive(Serialize)]
struct Child<'a> {
    level: &'static str,
    message: String,
    code: Option<MessageCode>,
    spans: Vec<SpanMessage<'a>>,
    children: [(); 0],
    rendered: Option<String>,
}

impl<'a> Child<'a> {
    fn new(level: &'static str, message: String) -> Self {
        Self { level, message, code: None, spans: Vec::new(), children: [], rendered: None }
    }

    /// All edits of one child belong together, as in rustc's messages.
    fn suggestion(diagnostic: &Diagnostic, suggestion: &'a Suggestion) -> Self {
        let spans = suggestion.edits.iter().map(|edit| SpanMessage {
            suggested_replacement: Some(&edit.replacement),
            suggestion_applicability: Some(suggestion.applicability.name()),
            ..SpanMessage::of_span(&edit.span, true)
        });
        // Editors show the message in a menu, so a proof of several lines is a separate text.
        let (title, rendered) = facts::titled(diagnostic, suggestion);
        Self { spans: spans.collect(), rendered, ..Self::new("help", title) }
    }
}

/// A span in rustc's form: byte offsets from 0, lines and columns (in characters) from 1.
#[derive(Serialize)]
struct SpanMessage<'a> {
    file_name: &'a str,
    byte_start: usize,
    byte_end: usize,
    line_start: usize,
    line_end: usize,
    column_start: usize,
    column_end: usize,
    is_primary: bool,
    text: Vec<SpanLine<'a>>,
    label: Option<&'a str>,
    suggested_replacement: Option<&'a str>,
    suggestion_applicability: Option<&'a str>,
    expansion: Option<()>,
    /// Only at places that a variable in local memory is declared or accessed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    lmem: Option<LabelFacts<'a>>,
}

/// What a label shows, beside its text.
#[derive(Serialize)]
struct LabelFacts<'a> {
    role: &'static str,
    variable: Option<&'a str>,
    /// Local loads and stores of the place, or of the declared variable, in the kernel with the most.
    loads: u64,
    stores: u64,
    /// The architectures whose machine code has them.
    archs: Vec<&'a str>,
}

impl<'a> LabelFacts<'a> {
    fn new(label: &Label, is_primary: bool, evidence: Option<&'a Evidence>) -> Option<Self> {
        let evidence = evidence?;
        let at_label = |access: &&LocalAccess| access.spans.contains(&label.span);
        let kernels = evidence.kernels.iter().map(|kernel| (kernel, kernel.accesses.iter().filter(at_label)));
        let sums = kernels.map(|(kernel, accesses)| {
            let sum = accesses.clone().fold((0, 0), |sum, access| (sum.0 + access.loads, sum.1 + access.stores));
            (kernel.arch.as_str(), sum, accesses.filter_map(|access| access.variable.as_deref()).next())
        });
        let here: Vec<_> = sums.filter(|(_, traffic, _)| *traffic != (0, 0)).collect();
        // The label of a declaration has the size.
        let is_declaration = here.is_empty() && is_primary && evidence.size.is_some() && evidence.variable.is_some();
        let mut archs: Vec<&str> = match is_declaration {
            true => evidence.kernels.iter().map(|kernel| kernel.arch.as_str()).collect(),
            false => here.iter().map(|(arch, _, _)| *arch).collect(),
        };
        archs.sort_by_key(|arch| (Arch::of(arch), *arch));
        archs.dedup();
        if is_declaration {
            let variable = evidence.variable.as_deref();
            return Some(Self { role: "declaration", variable, loads: evidence.loads, stores: evidence.stores, archs });
        }
        let (_, (loads, stores), variable) = here.into_iter().max_by_key(|(_, (loads, stores), _)| loads + stores)?;
        let role = match (loads, stores) {
            (_, 0) => "read",
            (0, _) => "write",
            _ => "read_write",
        };
        Some(Self { role, variable, loads, stores, archs })
    }
}

/// A line of a span, and the range of its characters that the span covers, from 1.
#[derive(Serialize)]
struct SpanLine<'a> {
    text: &'a str,
    highlight_start: usize,
    highlight_end: usize,
}

impl<'a> SpanMessage<'a> {
    fn new(label: &'a Label, is_primary: bool) -> Self {
        let label_text = Some(label.text.as_str()).filter(|text| !text.is_empty());
        Self { label: label_text, ..Self::of_span(&label.span, is_primary) }
    }

    fn of_span(span: &'a Span, is_primary: bool) -> Self {
        let bytes = range(span);
        let region = Region::new(span, Columns::Characters);
        Self {
            file_name: &span.file.display,
            byte_start: bytes.start,
            byte_end: bytes.end,
            line_start: region.start_line,
            line_end: region.end_line,
            column_start: region.start_column,
            column_end: region.end_column,
            is_primary,
            text: span_lines(span, region),
            label: None,
            suggested_replacement: None,
            suggestion_applicability: None,
            expansion: None,
            lmem: None,
        }
    }
}

fn span_lines(span: &Span, region: Region) -> Vec<SpanLine<'_>> {
    let lines = (region.start_line..=region.end_line).take(MAX_LINES);
    let line = |number: usize| {
        let text = span.file.line_text(number)?;
        let start = if number == region.start_line { region.start_column } else { 1 };
        let end = if number == region.end_line { region.end_column } else { text.chars().count() + 1 };
        Some(excerpt(text, start, end))
    };
    lines.filter_map(line).collect()
}

/// A line, or what is around the start of the highlighted part of a very long one. Columns count from the text's start.
fn excerpt(text: &str, start: usize, end: usize) -> SpanLine<'_> {
    if text.len() <= MAX_LINE {
        return SpanLine { text, highlight_start: start, highlight_end: end };
    }
    let byte = |column: usize| text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
    let first = (start - 1).saturating_sub(MAX_LINE / 4);
    let last = first + MAX_LINE;
    let text = &text[byte(first)..byte(last)];
    SpanLine { text, highlight_start: start - first, highlight_end: end.min(last + 1) - first }
}

/// The measured facts, in addition to cargo's message.
#[derive(Serialize)]
pub(super) struct LmemFields<'a> {
    lint: &'static str,
    variable: Option<&'a str>,
    variable_type: Option<&'a str>,
    bytes: u64,
    loads: u64,
    stores: u64,
    loop_depth: u32,
    uniformity: Option<Uniformity>,
    /// What reports are sorted by.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_percent: Option<u32>,
    kernels: Vec<KernelInstance>,
    flags: Option<FlagOrigin>,
    fingerprint: String,
    suggestions: Vec<LmemSuggestion<'a>>,
    /// Edits that are not shown, with the reason of each.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    rejected: &'a [Rejected],
    /// Why no edit was tried, if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    untried: Option<&'a str>,
}

/// A suggestion, in addition to rustc's form of it.
#[derive(Serialize)]
struct LmemSuggestion<'a> {
    title: &'a str,
    applicability: Applicability,
    verification: LmemVerification<'a>,
}

/// The kernel with the largest frame is the representative; `kernels` has all.
#[derive(Serialize)]
struct LmemVerification<'a> {
    status: &'static str,
    arch: Option<&'a str>,
    before: Option<Footprint>,
    after: Option<Footprint>,
    kernels: &'a [VerifiedKernel],
}

impl<'a> LmemSuggestion<'a> {
    fn new(suggestion: &'a Suggestion) -> Self {
        let kernels = suggestion.verification.as_ref().map_or(&[][..], |verification| &verification.kernels);
        let largest = kernels.iter().max_by_key(|kernel| (kernel.before.usage, std::cmp::Reverse(&kernel.arch)));
        let verification = LmemVerification {
            status: if suggestion.is_proven() { "proven" } else { "not-verified" },
            arch: largest.map(|kernel| kernel.arch.as_str()),
            before: largest.map(|kernel| kernel.before),
            after: largest.map(|kernel| kernel.after),
            kernels,
        };
        Self { title: &suggestion.title, applicability: suggestion.applicability, verification }
    }
}

impl<'a> LmemFields<'a> {
    /// `None` for messages that do not come from a lint.
    pub(super) fn new(diagnostic: &'a Diagnostic, fingerprint: String) -> Option<Self> {
        const NOTHING: &Evidence = &Evidence {
            variable: None,
            variable_type: None,
            bytes: 0,
            loads: 0,
            stores: 0,
            loop_depth: 0,
            uniformity: None,
            kernels: Vec::new(),
            size: None,
            cause: None,
            subject: None,
            quotes_figures: false,
            local_share: None,
            most_share: None,
            rejected: Vec::new(),
            untried: None,
        };
        let Code::Lint(lint) = diagnostic.code else { return None };
        let evidence = diagnostic.evidence.as_ref().unwrap_or(NOTHING);
        Some(Self {
            lint,
            variable: evidence.variable.as_deref(),
            variable_type: evidence.variable_type.as_deref(),
            bytes: evidence.bytes,
            loads: evidence.loads,
            stores: evidence.stores,
            loop_depth: evidence.loop_depth,
            uniformity: evidence.uniformity,
            cost_percent: diagnostic.cost().map(|share| (share + 5) / 10),
            // Labels say what is known of accesses.
            kernels: evidence.kernels.iter().map(KernelInstance::without_accesses).collect(),
            flags: evidence.flags(),
            fingerprint,
            suggestions: diagnostic.suggestions.iter().map(LmemSuggestion::new).collect(),
            rejected: &evidence.rejected,
            untried: evidence.untried.as_deref().filter(|_| diagnostic.suggestions.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::MessageFormat;
    use crate::report::samples;
    use snapbox::{IntoData, assert_data_eq, str};

    #[test]
    fn the_lines_of_a_report() {
        assert_data_eq!(samples::rendered(&samples::report(), MessageFormat::Json), str![[r#"
{"reason":"compiler-message","package_id":"lmem#outside-packages","manifest_path":"/ws/Cargo.toml","target":{"kind":["custom-build"],"crate_types":["bin"],"name":"lmem","src_path":"extra/broken.cu","edition":"2024","doc":false,"doctest":false,"test":false},"message":{"$message_type":"diagnostic","level":"error","message":"identifier \"undefined\" is undefined","code":{"code":"nvcc","explanation":null},"spans":[{"file_name":"extra/broken.cu","byte_start":22,"byte_end":31,"line_start":1,"line_end":1,"column_start":23,"column_end":32,"is_primary":true,"text":[{"text":"__global__ void k() { undefined(); }","highlight_start":23,"highlight_end":32}],"label":null,"suggested_replacement":null,"suggestion_applicability":null,"expansion":null}],"children":[],"rendered":"error[nvcc]: identifier \"undefined\" is undefined\n  ┌─ extra/broken.cu:1:23\n1 │ __global__ void k() { undefined(); }\n  │                       ^^^^^^^^^\n\n"},"lmem":null}
{"reason":"compiler-message","package_id":"path+file:///ws#demo@0.1.0","manifest_path":"/ws/Cargo.toml","target":{"name":"demo","kind":["lib"],"crate_types":["lib"],"required-features":[],"src_path":"/ws/src/lib.rs","edition":"2024","doctest":true,"test":true,"doc":true},"message":{"$message_type":"diagnostic","level":"error","message":"`count` (`int[4]`, 16 B) is in local memory: dynamically indexed","code":{"code":"lmem::dynamic_index","explanation":null},"spans":[{"file_name":"include/scan.cuh","byte_start":31,"byte_end":36,"line_start":2,"line_end":2,"column_start":19,"column_end":24,"is_primary":true,"text":[{"text":"struct Scan { int count[4]; };","highlight_start":19,"highlight_end":24}],"label":"16 B per thread","suggested_replacement":null,"suggestion_applicability":null,"expansion":null},{"file_name":"kernels/scan.cu","byte_start":48,"byte_end":58,"line_start":3,"line_end":3,"column_start":9,"column_end":19,"is_primary":false,"text":[{"text":"/* 值 */ s.count[k]++;","highlight_start":9,"highlight_end":19}],"label":"indexed here","suggested_replacement":null,"suggestion_applicability":null,"expansion":null}],"children":[{"level":"note","message":"sm_90: stack frame 16 B, registers 31","code":null,"spans":[],"children":[],"rendered":null},{"level":"note","message":"inlined at kernels/scan.cu:3","code":null,"spans":[],"children":[],"rendered":null}],"rendered":"error[dynamic_index]: `count` (`int[4]`, 16 B) is in local memory: dynamically indexed\n  ┌─ include/scan.cuh:2:19 in `scan`\n2 │ struct Scan { int count[4]; };\n  │                   ^^^^^ 16 B per thread\n  ┌─ kernels/scan.cu:3:9\n3 │ /* 值 */ s.count[k]++;\n  │          ---------- indexed here\n  = sm_90: stack frame 16 B, registers 31\n  = inlined at kernels/scan.cu:3\n\n"},"lmem":{"lint":"dynamic_index","variable":"count","variable_type":null,"bytes":16,"loads":1,"stores":1,"loop_depth":0,"uniformity":null,"kernels":[{"name":"scan","mangled":"_Z4scan","arch":"sm_90","toolkit":"13.5","bytes":16,"loads":0,"stores":0,"usage":{"stack_frame":16,"spill_stores":0,"spill_loads":0,"registers":31,"shared":0},"flags":"config"}],"flags":"config","fingerprint":"5f4eb648d6498c16","suggestions":[]}}
{"reason":"compiler-message","package_id":"path+file:///ws#demo@0.1.0","manifest_path":"/ws/Cargo.toml","target":{"name":"demo","kind":["lib"],"crate_types":["lib"],"required-features":[],"src_path":"/ws/src/lib.rs","edition":"2024","doctest":true,"test":true,"doc":true},"message":{"$message_type":"diagnostic","level":"warning","message":"`window` (`float[32]`, 128 B) is in local memory: dynamically indexed","code":{"code":"lmem::dynamic_index","explanation":null},"spans":[{"file_name":"kernels/running_mean.cu","byte_start":94,"byte_end":100,"line_start":3,"line_end":3,"column_start":11,"column_end":17,"is_primary":true,"text":[{"text":"    float window[W];","highlight_start":11,"highlight_end":17}],"label":"128 B per thread; 32 local loads, 1 store","suggested_replacement":null,"suggestion_applicability":null,"expansion":null,"lmem":{"role":"declaration","variable":"window","loads":32,"stores":1,"archs":["sm_90"]}},{"file_name":"kernels/running_mean.cu","byte_start":200,"byte_end":201,"line_start":7,"line_end":7,"column_start":16,"column_end":17,"is_primary":false,"text":[{"text":"\tsum += window[k];","highlight_start":16,"highlight_end":17}],"label":"divergent, loaded from memory (loop at line 4)","suggested_replacement":null,"suggestion_applicability":null,"expansion":null,"lmem":{"role":"read","variable":"window","loads":32,"stores":0,"archs":["sm_90"]}}],"children":[{"level":"note","message":"sm_90: stack frame 128 B, registers 31","code":null,"spans":[],"children":[],"rendered":null},{"level":"help","message":"index with the loop counter and unroll","code":null,"spans":[],"children":[],"rendered":null}],"rendered":"warning[dynamic_index]: `window` (`float[32]`, 128 B) is in local memory: dynamically indexed\n  ┌─ kernels/running_mean.cu:3:11 in `running_mean<32>`\n3 │     float window[W];\n  │           ^^^^^^ 128 B per thread; 32 local loads, 1 store\n7 │     sum += window[k];\n  │                   - divergent, loaded from memory (loop at line 4)\n  = sm_90: stack frame 128 B, registers 31\nhelp: index with the loop counter and unroll\n\n"},"lmem":{"lint":"dynamic_index","variable":"window","variable_type":"float[32]","bytes":128,"loads":32,"stores":1,"loop_depth":2,"uniformity":"per-thread","kernels":[{"name":"running_mean<32>","mangled":"_Z16running_mean<32>","arch":"sm_90","toolkit":"13.5","bytes":128,"loads":32,"stores":1,"usage":{"stack_frame":128,"spill_stores":0,"spill_loads":0,"registers":31,"shared":0},"flags":"config"}],"flags":"config","fingerprint":"88040dc246a6d807","suggestions":[]}}
{"reason":"compiler-message","package_id":"path+file:///ws#demo@0.1.0","manifest_path":"/ws/Cargo.toml","target":{"name":"demo","kind":["lib"],"crate_types":["lib"],"required-features":[],"src_path":"/ws/src/lib.rs","edition":"2024","doctest":true,"test":true,"doc":true},"message":{"$message_type":"diagnostic","level":"warning","message":"kernel `gemm_tile` spills: launch bounds allow 32 registers, 71 needed","code":{"code":"lmem::register_spill","explanation":null},"spans":[{"file_name":"src/kernels.rs","byte_start":59,"byte_end":68,"line_start":2,"line_end":2,"column_start":49,"column_end":58,"is_primary":true,"text":[{"text":"const SRC: &str = \"extern \\\"C\\\" __global__ void gemm_tile(float* c) {}\";","highlight_start":49,"highlight_end":58}],"label":"380 B of stack per thread for spills","suggested_replacement":null,"suggestion_applicability":null,"expansion":null}],"children":[{"level":"note","message":"sm_90: stack frame 384 B, spill stores 380 B, spill loads 420 B, registers 32","code":null,"spans":[],"children":[],"rendered":null},{"level":"note","message":"spills in the loop at line 9","code":null,"spans":[],"children":[],"rendered":null}],"rendered":"warning[register_spill]: kernel `gemm_tile` spills: launch bounds allow 32 registers, 71 needed\n  ┌─ src/kernels.rs:2:49 in `gemm_tile`\n2 │ const SRC: &str = \"extern \\\"C\\\" __global__ void gemm_tile(float* c) {}\";\n  │                                                 ^^^^^^^^^ 380 B of stack per thread for spills\n  = sm_90: stack frame 384 B, spill stores 380 B, spill loads 420 B, registers 32\n  = spills in the loop at line 9\n\n"},"lmem":{"lint":"register_spill","variable":null,"variable_type":null,"bytes":380,"loads":105,"stores":95,"loop_depth":0,"uniformity":null,"kernels":[{"name":"gemm_tile","mangled":"_Z9gemm_tile","arch":"sm_90","toolkit":"13.5","bytes":380,"loads":0,"stores":0,"usage":{"stack_frame":384,"spill_stores":380,"spill_loads":420,"registers":32,"shared":0},"flags":"assumed"}],"flags":"assumed","fingerprint":"4f76298b54290e8c","suggestions":[]}}
{"reason":"compiler-message","package_id":"lmem#outside-packages","manifest_path":"/ws/Cargo.toml","target":{"kind":["custom-build"],"crate_types":["bin"],"name":"lmem","src_path":"/ws","edition":"2024","doc":false,"doctest":false,"test":false},"message":{"$message_type":"diagnostic","level":"note","message":"`third_party/cutlass` is a git submodule and was skipped","code":{"code":"lmem::submodule","explanation":null},"spans":[],"children":[],"rendered":"note[submodule]: `third_party/cutlass` is a git submodule and was skipped\n\n"},"lmem":null}
{"reason":"build-finished","success":false}

"#]].raw());
    }

    #[test]
    fn cargo_reads_every_line() {
        let span = samples::variable().primary.unwrap().span;
        let suppression = Suppression {
            directive: "allow",
            lints: vec!["dynamic_index".to_string()],
            reason: None,
            scope: span.clone(),
            span,
            in_macro: None,
            silenced: 1,
        };
        let report = Report { suppressions: vec![suppression], ..samples::report() };
        let text = samples::rendered(&report, MessageFormat::Json);
        let messages: Vec<_> = cargo_metadata::Message::parse_stream(text.as_bytes()).map(Result::unwrap).collect();
        let [rest @ .., cargo_metadata::Message::BuildFinished(finished)] = messages.as_slice() else {
            panic!("no end: {text}")
        };
        assert!(!finished.success);
        let end = text.lines().last().unwrap();
        assert!(end.contains(r#""lmem":{"suppressions":[{"directive":"allow","lints":["dynamic_index"],"#), "{end}");
        assert!(rest.iter().all(|message| matches!(message, cargo_metadata::Message::CompilerMessage(_))), "{text}");
    }

    #[test]
    fn rustfix_reads_every_message() {
        let text = samples::rendered(&samples::report(), MessageFormat::Json);
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let Some(message) = line.get("message") else { continue };
            let codes = std::collections::HashSet::<String>::new();
            let found = rustfix::get_suggestions_from_json(&message.to_string(), &codes, rustfix::Filter::Everything);
            assert_eq!(found.unwrap(), []);
        }
    }

    #[test]
    fn kernels_have_the_places_that_load_them() {
        let place = lmem_base::diagnostic::Location { file: "src/main.rs".to_string(), line: 42, column: 17 };
        let kernel = KernelInstance { loaded_at: vec![place], ..samples::kernel("mean", "sm_90", 128) };
        let kernel = serde_json::to_value(kernel).unwrap();
        assert_eq!(kernel["loaded_at"], serde_json::json!([{"file": "src/main.rs", "line": 42, "column": 17}]));
    }

    #[test]
    fn edits_that_compute_something_else_are_counted() {
        let report = Report {
            summary: lmem_base::diagnostic::Summary { refuted: 2, ..Default::default() },
            ..Report::default()
        };
        let text = samples::rendered(&report, MessageFormat::Json);
        assert_eq!(text, "{\"reason\":\"build-finished\",\"success\":true,\"lmem\":{\"refuted\":2}}\n");
    }

    #[test]
    fn warnings_alone_are_a_success() {
        let report = Report { diagnostics: vec![samples::variable()], ..Report::default() };
        let text = samples::rendered(&report, MessageFormat::Json);
        assert!(text.ends_with("{\"reason\":\"build-finished\",\"success\":true}\n"), "{text}");
    }

    #[test]
    fn spans_over_lines_highlight_each() {
        let file = lmem_base::source::SourceFile::from_text("a.cu", "éab\ncd\r\nef\n");
        let label = Label { span: lmem_base::source::Span::new(&file, 2..10), text: String::new() };
        let span = serde_json::to_value(SpanMessage::new(&label, true)).unwrap();
        let expected = serde_json::json!([
            {"text": "éab", "highlight_start": 2, "highlight_end": 4},
            {"text": "cd", "highlight_start": 1, "highlight_end": 3},
            {"text": "ef", "highlight_start": 1, "highlight_end": 2},
        ]);
        assert_eq!(span["text"], expected);
        assert_eq!((span["byte_start"].as_u64(), span["byte_end"].as_u64()), (Some(2), Some(10)));
    }

    #[test]
    fn long_lines_and_spans_are_shown_in_part() {
        let text = format!("{}here{}", "é".repeat(5000), "b".repeat(100_000));
        let line = excerpt(&text, 5001, 5005);
        let shown: String =
            line.text.chars().skip(line.highlight_start - 1).take(line.highlight_end - line.highlight_start).collect();
        assert_eq!((shown.as_str(), line.text.chars().count()), ("here", MAX_LINE));
        let line = excerpt(&text, 1, 100_000);
        assert_eq!((line.highlight_start, line.highlight_end), (1, MAX_LINE + 1));
        let file = lmem_base::source::SourceFile::from_text("a.cu", &"a\n".repeat(5000));
        let label = Label { span: lmem_base::source::Span::new(&file, 0..9000), text: String::new() };
        let span = serde_json::to_value(SpanMessage::new(&label, true)).unwrap();
        assert_eq!(span["text"].as_array().unwrap().len(), MAX_LINES);
    }
}
