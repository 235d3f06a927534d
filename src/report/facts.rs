//! The lines below an excerpt: kernels with their figures, where they are loaded, and notes of the finding.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lmem_base::diagnostic::{Diagnostic, KernelInstance, Label, Location, Rejected, Severity, Suggestion};
use lmem_base::source::Span;
use lmem_base::words::plural;

use super::Context;
use super::figures::Figures;
use super::names::shorten;
use super::position::place;
use super::suggestion::{changes, shown_by_runs};
use crate::gate;

/// Limit on kernels whose loading places are listed, and on places of one kernel.
const MAX_LOADED: usize = 3;
/// Columns of a note: more would be two lines.
const MAX_JOINED: usize = 92;
/// A load within this many lines of a shown line is not listed.
const NEAR: usize = 10;

/// All facts of a diagnostic, one note each; a note may have several lines.
pub(super) fn notes(diagnostic: &Diagnostic) -> Vec<String> {
    let figures = Figures::new(kernels(diagnostic), None).text();
    figures.into_iter().chain(cost(diagnostic)).chain(diagnostic.notes.iter().cloned()).collect()
}

/// The facts for people, with the places where the kernels are used. Figures shown below a verified edit are not
/// repeated.
pub(super) fn notes_for_people(diagnostic: &Diagnostic) -> Vec<String> {
    let is_below = diagnostic.suggestions.iter().any(Suggestion::is_proven);
    let figures = Figures::new(kernels(diagnostic), None).text().filter(|_| !is_below);
    let facts = with_cost(figures, diagnostic).into_iter().chain(loads(diagnostic));
    facts.chain(diagnostic.notes.iter().cloned()).collect()
}

/// Why edits are not shown, beside what the notes say of them.
pub(super) fn rejections(diagnostic: &Diagnostic) -> Vec<String> {
    let Some(evidence) = &diagnostic.evidence else { return Vec::new() };
    let is_told = |rejected: &&Rejected| {
        let tried = format!("({})", rejected.reason);
        diagnostic.notes.iter().any(|note| note.starts_with("tried and rejected") && note.contains(&tried))
    };
    // Another form of what is shown is of no interest.
    let is_shown = |rejected: &Rejected| diagnostic.suggestions.iter().any(|shown| shown.title == rejected.title);
    let rejected = evidence.rejected.iter().filter(|rejected| !is_told(rejected) && !is_shown(rejected));
    let rejected = rejected.map(|rejected| format!("not shown: {} ({})", rejected.title, rejected.reason));
    let untried = evidence.untried.iter().filter(|_| diagnostic.suggestions.is_empty()).cloned();
    rejected.chain(untried).collect()
}

/// Figures and costs, in one line where both have room in it.
fn with_cost(figures: Option<String>, diagnostic: &Diagnostic) -> Vec<String> {
    let cost = cost(diagnostic);
    let short = cost.as_ref().and_then(|cost| cost.strip_prefix("local memory takes "));
    if let (Some(figures), Some(short)) =
        (&figures, short.map(|short| short.replace("the kernel's estimated time", "time")))
    {
        // Beside the figures of one variable, the share must not look like its own.
        let both = format!("{figures}; local memory: {short}");
        if !both.contains('\n') && both.chars().count() <= MAX_JOINED {
            return vec![both];
        }
    }
    figures.into_iter().chain(cost).collect()
}

/// What local memory costs, by a run of the kernel without edits. A verified edit says what it gains.
fn cost(diagnostic: &Diagnostic) -> Option<String> {
    let share = diagnostic.evidence.as_ref()?.local_share.filter(|_| diagnostic.ended_share().is_none())?;
    let names: BTreeSet<&str> = kernels(diagnostic).iter().map(|kernel| kernel.name.as_str()).collect();
    let whose = if names.len() > 1 { "a kernel's" } else { "the kernel's" };
    let most = if names.len() > 1 { "up to " } else { "" };
    // The estimate knows no more than one digit.
    Some(match ((share + 50) / 100).min(9) {
        0 => format!("local memory takes less than 5 % of {whose} estimated time"),
        tenths => format!("local memory takes {most}about {tenths}0 % of {whose} estimated time"),
    })
}

pub(super) fn kernels(diagnostic: &Diagnostic) -> &[KernelInstance] {
    diagnostic.evidence.as_ref().map_or(&[], |evidence| &evidence.kernels)
}

/// The message with all labels, facts and help below it, for formats with a single location.
pub(super) fn plain_text(diagnostic: &Diagnostic) -> String {
    text_with(diagnostic, |_, label| format!("{}: {}", place(&label.span), label.text))
}

/// The same without secondary locations, for formats that show them separately.
pub(super) fn text_without_places(diagnostic: &Diagnostic) -> String {
    let alone = Diagnostic { secondary: Vec::new(), ..diagnostic.clone() };
    plain_text(&alone)
}

/// The same, with a line for each secondary label in the format's own form; labels are counted from 1.
pub(super) fn text_with(diagnostic: &Diagnostic, secondary: fn(usize, &Label) -> String) -> String {
    let mut lines = vec![diagnostic.message.clone()];
    lines.extend(diagnostic.primary.iter().map(|label| label.text.clone()).filter(|text| !text.is_empty()));
    lines.extend((1..).zip(&diagnostic.secondary).map(|(number, label)| secondary(number, label)));
    lines.extend(notes(diagnostic).iter().map(|note| format!("note: {note}")));
    lines.extend(diagnostic.help.iter().map(|help| format!("help: {}", help.message)));
    lines.join("\n")
}

/// Fingerprints that code scanning, GitLab and other programs identify diagnostics by. If the baseline counts several
/// together, the later ones get a number.
pub(super) fn fingerprints(diagnostics: &[Diagnostic]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let fingerprint = |diagnostic: &Diagnostic| {
        let identity = gate::identity(diagnostic);
        let number = *seen.entry(identity.clone()).and_modify(|number| *number += 1).or_insert(1);
        if number > 1 { format!("{identity}-{number}") } else { identity }
    };
    diagnostics.iter().map(fingerprint).collect()
}

/// A suggestion's title with its proof on one line, and the full proof.
pub(super) fn titled(diagnostic: &Diagnostic, suggestion: &Suggestion) -> (String, Option<String>) {
    if !suggestion.is_proven() {
        return (format!("{} (not verified)", suggestion.title), None);
    }
    let figures = Figures::new(kernels(diagnostic), Some(suggestion)).text();
    let runs = shown_by_runs(suggestion);
    let separator = if figures.as_ref().is_some_and(|figures| figures.contains('\n')) { "\n" } else { "; " };
    let proof = figures.into_iter().chain(runs).reduce(|figures, runs| figures + separator + &runs);
    let short = match proof.as_deref().filter(|proof| !proof.contains('\n')) {
        Some(proof) => format!("{} (verified by recompiling: {proof})", suggestion.title),
        None => format!("{} (verified by recompiling)", suggestion.title),
    };
    (short, proof)
}

/// The changed lines of an edit in patch form, without context.
pub(super) fn edit_lines(suggestion: &Suggestion) -> Vec<String> {
    let lines = changes(suggestion).into_iter().flat_map(|change| {
        let head = format!("@@ {}:{} @@", change.file.display, change.line);
        let before = change.before.into_iter().map(|line| format!("-{line}"));
        let after = change.after.into_iter().map(|line| format!("+{line}"));
        std::iter::once(head).chain(before).chain(after).collect::<Vec<_>>()
    });
    lines.collect()
}

/// The path of a span's file relative to the repository root; absolute if the file lies outside the workspace.
pub(super) fn repository_path(span: &Span, cx: &Context) -> String {
    let path = &span.file.display;
    if Path::new(path).is_absolute() { path.clone() } else { format!("{}{path}", cx.repository_prefix) }
}

/// The name of a severity in all formats.
pub(super) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Where Rust code loads the kernels, if that is not near the lines that are shown.
fn loads(diagnostic: &Diagnostic) -> Vec<String> {
    let shown: Vec<Location> =
        diagnostic.primary.iter().chain(&diagnostic.secondary).map(|label| Location::from(&label.span)).collect();
    let is_near =
        |load: &&Location| shown.iter().any(|shown| shown.file == load.file && shown.line.abs_diff(load.line) <= NEAR);
    let mut places: BTreeMap<&str, BTreeSet<&Location>> = BTreeMap::new();
    for kernel in diagnostic.evidence.iter().flat_map(|evidence| &evidence.kernels) {
        places.entry(&kernel.name).or_default().extend(&kernel.loaded_at);
    }
    places.retain(|_, places| !places.is_empty() && !places.iter().any(is_near));
    let line = |(name, places): (&&str, &BTreeSet<&Location>)| {
        let named: Vec<String> = places.iter().take(MAX_LOADED).map(ToString::to_string).collect();
        let more = places.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("`{}` loaded at {}{more}", shorten(name), named.join(", "))
    };
    let mut lines: Vec<String> = places.iter().take(MAX_LOADED).map(line).collect();
    if let Some(more) = places.len().checked_sub(MAX_LOADED).filter(|more| *more > 0) {
        lines.push(format!("… and {} (all in `--message-format json`)", plural(more as u64, "more kernel")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn numbers_agree_with_their_nouns() {
        assert_eq!(plural(0, "register"), "0 registers");
        assert_eq!(plural(1, "register"), "1 register");
        assert_eq!(plural(2, "byte"), "2 bytes");
    }

    #[test]
    fn the_cost_is_said_where_no_edit_tells_it() {
        let with = |mut diagnostic: Diagnostic, share: u32, names: &[&str]| {
            let evidence = diagnostic.evidence.as_mut().unwrap();
            evidence.local_share = Some(share);
            evidence.kernels = names.iter().map(|name| samples::kernel(name, "sm_90", 128)).collect();
            cost(&diagnostic)
        };
        let of_one = |share| with(samples::variable(), share, &["mean"]).unwrap();
        assert_eq!(of_one(437), "local memory takes about 40 % of the kernel's estimated time");
        assert_eq!(of_one(49), "local memory takes less than 5 % of the kernel's estimated time");
        let of_two = with(samples::variable(), 960, &["mean", "sum"]).unwrap();
        assert_eq!(of_two, "local memory takes up to about 90 % of a kernel's estimated time");
        assert_eq!(cost(&samples::variable()), None);
    }

    #[test]
    fn loads_are_said_where_they_are_not_seen() {
        let at = |file: &str, line: usize| Location { file: file.to_string(), line, column: 17 };
        let lines = |kernels: &[(&str, Vec<Location>)]| {
            let mut diagnostic = samples::variable();
            let kernel = |(name, loaded_at): &(&str, Vec<Location>)| KernelInstance {
                loaded_at: loaded_at.clone(),
                ..samples::kernel(name, "sm_90", 128)
            };
            diagnostic.evidence.as_mut().unwrap().kernels = kernels.iter().map(kernel).collect();
            loads(&diagnostic)
        };
        let main = |line| at("src/main.rs", line);
        assert_eq!(lines(&[("mean", vec![])]), [""; 0]);
        assert_eq!(lines(&[("mean", vec![main(42)])]), ["`mean` loaded at src/main.rs:42:17"]);
        assert_eq!(
            lines(&[("mean", (1..=5).map(main).collect())]),
            ["`mean` loaded at src/main.rs:1:17, src/main.rs:2:17, src/main.rs:3:17 and 2 more"]
        );
        // The variable is on line 3.
        assert_eq!(lines(&[("mean", vec![at("kernels/running_mean.cu", 12), main(1)])]), [""; 0]);
        assert_eq!(lines(&[("mean", vec![at("kernels/running_mean.cu", 40)])]).len(), 1);
        let four = ["a", "b", "c", "d"].map(|name| (name, vec![main(1)]));
        assert_eq!(lines(&four)[3], "… and 1 more kernel (all in `--message-format json`)");
    }
}
