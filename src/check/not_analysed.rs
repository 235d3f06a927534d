//! Reports texts that were not analysed, once for each reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lmem_base::diagnostic::{Code, Diagnostic, Help, Label, Report, Severity};
use lmem_base::source::{SourceFile, Span, display_path, has_ending};
use lmem_base::words::plural;
use lmem_extract::Extraction;
use lmem_lints::remark::NOT_CHECKED;
use lmem_project::discover::{NotChecked, Refused, Unchecked, Workspace};
use lmem_unit::Unresolved;

use crate::check::jobs::Job;
use crate::check::messages;
use crate::check::unit::UnitReport;

/// Limit on locations that are listed besides the first.
const MAX_PLACES: usize = 8;

/// The remark on a source that is not checked for its name.
const REFUSED: &str = "refused";

/// The remark on a source that could not be read.
const UNREAD: &str = "unread";

/// A note for each reason why texts of a package were not analysed.
pub(super) fn not_analysed(extraction: &Extraction, workspace: &Workspace) -> Vec<Diagnostic> {
    let mut by_reason: BTreeMap<(Option<String>, &str), Vec<&Unresolved>> = BTreeMap::new();
    for unresolved in &extraction.unresolved {
        let file = workspace.file(&unresolved.span.file.path);
        let package = file.and_then(|file| workspace.package_of(file)).map(|package| package.name.clone());
        by_reason.entry((package, &unresolved.reason)).or_default().push(unresolved);
    }
    by_reason.into_iter().map(|((package, reason), texts)| note(package, reason, &texts)).collect()
}

/// A note for each reason why the options of kernel strings are not known: what is said of their kernels may not hold.
pub(super) fn unknown_options(extraction: &Extraction, workspace: &Workspace) -> Vec<Diagnostic> {
    let mut by_reason: BTreeMap<(Option<&str>, bool, &str), Vec<Span>> = BTreeMap::new();
    for unit in &extraction.units {
        let reason = unit.unresolved_options();
        // A text that stands in its call has no other place.
        let Some((reason, site)) = reason.zip(unit.use_site.clone().or_else(|| messages::start_of(unit))) else {
            continue;
        };
        let file = workspace.file(&site.file.path);
        let package = file.and_then(|file| workspace.package_of(file)).map(|package| package.name.as_str());
        by_reason.entry((package, unit.is_unclaimed(), reason)).or_default().push(site);
    }
    let note = |((package, is_unclaimed, reason), mut sites): ((Option<&str>, bool, &str), Vec<Span>)| {
        sites.sort();
        sites.dedup();
        let texts: Vec<Unresolved> =
            sites.into_iter().map(|span| Unresolved { span, reason: reason.to_string() }).collect();
        let texts: Vec<&Unresolved> = texts.iter().collect();
        let message = match (texts.len(), is_unclaimed) {
            (1, true) => format!("kernel source checked with assumed options: {reason}"),
            (count, true) => format!("{count} kernel sources checked with assumed options: {reason}"),
            (1, false) => format!("kernel source checked without some of its options: {reason}"),
            (count, false) => format!("{count} kernel sources checked without some of their options: {reason}"),
        };
        let help = "`cargo lmem run -- COMMAND` checks them with the options of the program";
        Diagnostic {
            message,
            help: vec![Help { message: help.to_string() }],
            ..self::note(package.map(str::to_string), reason, &texts)
        }
    };
    by_reason.into_iter().map(note).collect()
}

/// Texts that no call is known to compile, and that have no kernel by themselves.
pub(super) fn without_kernels(jobs: &[Job<'_>], reports: &[UnitReport]) -> Vec<Unresolved> {
    let mut with_kernels: BTreeMap<&str, (Option<Unresolved>, bool)> = BTreeMap::new();
    for (job, report) in jobs.iter().zip(reports).filter(|(job, _)| job.unit.is_unclaimed()) {
        let unresolved = || {
            let reason = job.unit.unresolved_options()?.to_string();
            Some(Unresolved { span: messages::start_of(job.unit)?, reason })
        };
        let (_, has_kernels) = with_kernels.entry(&job.unit.name).or_insert_with(|| (unresolved(), false));
        *has_kernels |= report.kernels > 0;
    }
    with_kernels.into_values().filter(|(_, has_kernels)| !has_kernels).filter_map(|(text, _)| text).collect()
}

/// A warning for each reason why sources of the tree are not checked.
pub(super) fn not_checked(not_checked: &[NotChecked], workspace: &Workspace) -> Vec<Diagnostic> {
    let mut by_reason: BTreeMap<Unchecked, Vec<&Path>> = BTreeMap::new();
    for unchecked in not_checked {
        by_reason.entry(unchecked.why).or_default().push(&unchecked.path);
    }
    let shown = |path: &Path| display_path(path, &workspace.root);
    let warning = |(why, paths): (Unchecked, Vec<&Path>)| {
        let (path, others) = paths.split_first()?;
        let first = shown(path);
        let message = match others.len() {
            0 => format!("`{first}` is not checked: it is {}", why.what()),
            more => format!("`{first}` and {} are not checked: each is {}", plural(more as u64, "other"), why.what()),
        };
        let mut places: Vec<String> = others.iter().take(MAX_PLACES).map(|path| format!("`{}`", shown(path))).collect();
        if others.len() > MAX_PLACES {
            places.push(format!("{} more", others.len() - MAX_PLACES));
        }
        let notes = (!places.is_empty()).then(|| format!("also {}", places.join(", "))).into_iter().collect();
        let help = vec![Help { message: why.help().to_string() }];
        // A link has no text of its own, and what it leads to need not be of the tree.
        let place = Span::new(&SourceFile::without_text(path, &workspace.root), 0..0);
        // What several have in common has no place: a comparison drops what stands at a file that is as it was.
        let primary = Some(Label { span: place, text: String::new() }).filter(|_| others.is_empty());
        Some(Diagnostic { primary, notes, help, ..less_checked(&message) })
    };
    by_reason.into_iter().filter_map(warning).collect()
}

/// A warning for each reason why Rust code and texts are beyond what is followed.
pub(super) fn beyond<'a>(found: impl IntoIterator<Item = &'a Unresolved>, workspace: &Workspace) -> Vec<Diagnostic> {
    let mut by_reason: BTreeMap<&str, Vec<&Unresolved>> = BTreeMap::new();
    for beyond in found {
        by_reason.entry(&beyond.reason).or_default().push(beyond);
    }
    let place = |it: &Unresolved| format!("`{}:{}`", it.span.file.display, it.span.start_line());
    let warning = |(reason, found): (&str, Vec<&Unresolved>)| {
        let (first, others) = found.split_first()?;
        let message = match others.len() {
            0 => format!("{} is not checked: {reason}", place(first)),
            more => format!("{} and {} are not checked: {reason}", place(first), plural(more as u64, "other place")),
        };
        let mut places: Vec<String> = others.iter().take(MAX_PLACES).map(|it| place(it)).collect();
        if others.len() > MAX_PLACES {
            places.push(format!("{} more", others.len() - MAX_PLACES));
        }
        let notes = (!places.is_empty()).then(|| format!("also {}", places.join(", "))).into_iter().collect();
        let what = match reason.starts_with("it includes") {
            true => "put what it includes into the workspace",
            false => "write it in fewer steps, such as one literal beside the call",
        };
        let help = format!("{what}, or leave the file out with `exclude`");
        let package = workspace.file(&first.span.file.path).and_then(|file| workspace.package_of(file));
        Some(Diagnostic {
            primary: Some(Label { span: first.span.clone(), text: String::new() }),
            notes,
            help: vec![Help { message: help }],
            package: package.map(|package| package.name.clone()),
            ..less_checked(&message)
        })
    };
    by_reason.into_iter().filter_map(warning).collect()
}

/// A warning that a run looked at less than was asked for: what is not checked must not look like what is clean.
pub(super) fn less_checked(message: &str) -> Diagnostic {
    Diagnostic::of_tool(Severity::Warning, NOT_CHECKED, message)
}

/// A note that settings allow [`NOT_CHECKED`]: they are part of the tree, so that a change that hides sources can allow it.
pub(super) fn silenced(count: usize) -> Diagnostic {
    let warnings = plural(count as u64, "warning");
    let message = format!("not everything is checked, and the settings allow that: {warnings} not shown");
    let help = Help { message: format!("`-W {NOT_CHECKED}` shows what is not checked, whatever the settings say") };
    Diagnostic { help: vec![help], ..Diagnostic::of_tool(Severity::Note, NOT_CHECKED, message) }
}

/// An error for each source whose name keeps it from being checked, and for settings that cannot be read.
pub(super) fn refused<'a>(refused: impl IntoIterator<Item = &'a Refused>) -> Vec<Diagnostic> {
    let error = |refused: &Refused| Diagnostic {
        help: vec![Help { message: refused.help.to_string() }],
        ..Diagnostic::of_tool(Severity::Error, REFUSED, &*refused.message)
    };
    refused.into_iter().map(error).collect()
}

/// An error for each file that may have kernels and was not read.
pub(super) fn unread(extraction: &Extraction, workspace: &Workspace) -> Vec<Diagnostic> {
    let error = |unread: &Unresolved| {
        let Unresolved { span, reason } = unread;
        let file = workspace.file(&span.file.path);
        let has_ending = |endings: &[&str]| has_ending(&span.file.path, endings);
        let help = match span.range().is_empty() {
            false if has_ending(&["rs"]) => {
                "`cargo check` says what is wrong; `exclude` leaves out a file that is not Rust"
            }
            _ if has_ending(&["cubin", "fatbin"]) => "name one with PTX, or with machine code for sm_70 or later",
            _ => "make it readable, or leave it out with `exclude`",
        };
        Diagnostic {
            primary: Some(Label { span: span.clone(), text: String::new() }),
            help: vec![Help { message: help.to_string() }],
            package: file.and_then(|file| workspace.package_of(file)).map(|package| package.name.clone()),
            ..Diagnostic::of_tool(Severity::Error, UNREAD, format!("`{}` is not checked: {reason}", span.file.display))
        }
    };
    extraction.unread.iter().map(error).collect()
}

/// The files that may have kernels and were not read.
pub(super) fn unread_files(extraction: &Extraction) -> BTreeSet<PathBuf> {
    extraction.unread.iter().map(|unread| unread.span.file.path.clone()).collect()
}

/// Whether the report says that a source was not checked for its file's name.
pub(super) fn has_refused(report: &Report) -> bool {
    report.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::Tool(REFUSED))
}

fn note(package: Option<String>, reason: &str, texts: &[&Unresolved]) -> Diagnostic {
    // Details after the reason are a separate line.
    let (reason, more) = reason.split_once(": ").map_or((reason, None), |(reason, more)| (reason, Some(more)));
    let message = match texts.len() {
        1 => format!("kernel source not checked: {reason}"),
        count => format!("{count} kernel sources not checked: {reason}"),
    };
    let place = |text: &&Unresolved| format!("`{}:{}`", text.span.file.display, text.span.start_line());
    let others = texts.get(1..).unwrap_or_default();
    let mut places: Vec<String> = others.iter().take(MAX_PLACES).map(place).collect();
    if others.len() > MAX_PLACES {
        places.push(format!("{} more", others.len() - MAX_PLACES));
    }
    let note = (!places.is_empty()).then(|| format!("also at {}", places.join(", ")));
    Diagnostic {
        primary: texts.first().map(|text| Label { span: text.span.clone(), text: String::new() }),
        notes: more.map(str::to_string).into_iter().chain(note).collect(),
        package,
        ..Diagnostic::of_tool(Severity::Note, "not_analysed", message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_project::discover::NotChecked;

    #[test]
    fn sources_that_are_not_checked_are_one_warning_for_each_reason() {
        let unchecked = |why, name: &str| NotChecked { why, path: Path::new("/w").join(name) };
        let link = |name: &str| unchecked(Unchecked::LeadsOut, name);
        let submodule = unchecked(Unchecked::Submodule, "cutlass");
        let workspace = Workspace {
            not_checked: (0..11).map(|number| link(&format!("{number}.cu"))).chain([submodule]).collect(),
            root: "/w".into(),
            ..Workspace::default()
        };
        let [links, submodule] = &not_checked(&workspace.not_checked, &workspace)[..] else { panic!("two reasons") };
        assert_eq!(
            links.message,
            "`0.cu` and 10 others are not checked: each is a link that leads out of the workspace"
        );
        assert_eq!(links.notes.len(), 1);
        assert!(links.notes[0].starts_with("also `1.cu`, ") && links.notes[0].ends_with("`8.cu`, 2 more"));
        assert_eq!(submodule.message, "`cutlass` is not checked: it is a git submodule with CUDA sources");
        assert_eq!((submodule.severity, submodule.notes.len()), (Severity::Warning, 0));
    }

    #[test]
    fn one_reason_is_one_note() {
        let file = SourceFile::from_text("src/lib.rs", &"get();\n".repeat(12));
        let text = |line: usize, reason: &str| Unresolved {
            span: Span::line(&file, line).unwrap(),
            reason: reason.to_string(),
        };
        let unresolved = (1..=11).map(|line| text(line, "it is made")).chain([text(12, "it is a parameter")]).collect();
        let extraction = Extraction { unresolved, ..Extraction::default() };
        let notes = not_analysed(&extraction, &Workspace::default());
        let messages: Vec<&str> = notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(
            messages,
            ["kernel source not checked: it is a parameter", "11 kernel sources not checked: it is made"]
        );
        let places = &notes[1].notes[0];
        assert!(
            places.starts_with("also at `src/lib.rs:2`, ") && places.ends_with("`src/lib.rs:9`, 2 more"),
            "{places}"
        );
    }
}
