//! Baselines: lists of known findings, so that an existing project starts with zero new findings.
//!
//! The file has one line for each lint, file, kernel and variable, with the bytes allowed on each architecture. Source
//! lines are not part of it, so code may move. The lines are sorted, and of two lines for the same finding the larger
//! bytes count. So two branches only conflict if they change the same finding, and `merge=union` in `.gitattributes`
//! resolves that too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lmem_base::diagnostic::{BaselineTally, Code, Diagnostic, ImprovedEntry, Severity};
use lmem_base::places;
use serde::{Deserialize, Serialize};

/// Default name, in the workspace's folder.
pub const DEFAULT_NAME: &str = "lmem-baseline.json";

/// The first line of the file.
const HEADING: &str = r#"{"cargo-lmem baseline":1}"#;

/// Size limit; a finding takes some 150 bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Lints whose findings are identified by kernel and not by variable: which value is spilled changes with every edit.
const OF_A_KERNEL: [&str; 2] = ["register_spill", "call_frame"];

/// Why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    #[error("the baseline `{}` cannot be read", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error("the baseline `{}` is not one: line {line} {problem}", .path.display())]
    Form { path: PathBuf, line: usize, problem: String },
    #[error("`{}` is no baseline, and is not replaced by one", .0.display())]
    Foreign(PathBuf),
    #[error("the baseline `{}` cannot be written", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error("the baseline `{}` lies outside of the workspace: `--baseline` on the command line may name such a file", .0.display())]
    Outside(PathBuf),
}

impl BaselineError {
    /// What to do next.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Read { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
                vec!["`cargo lmem --write-baseline` writes it, with what is found today".to_string()]
            }
            Self::Foreign(_) => vec![
                "`baseline` in the settings names it: name another file there, or with `--baseline FILE`; remove it if nothing needs it".to_string(),
            ],
            Self::Form { .. } => vec!["remove it; `cargo lmem --write-baseline` then writes it anew".to_string()],
            _ => Vec::new(),
        }
    }
}

/// The identity of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct EntryKey {
    lint: String,
    file: String,
    /// Demangled; empty for remarks on a file's options.
    kernel: String,
    variable: Option<String>,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineLine {
    lint: String,
    file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kernel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
    /// By architecture.
    bytes: BTreeMap<String, u64>,
}

/// Bytes by architecture.
type Ceilings = BTreeMap<String, u64>;

/// The bytes of each finding, by architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    ceilings: BTreeMap<EntryKey, Ceilings>,
}

/// The lint that no baseline keeps.
pub const BUDGET: &str = "budget_exceeded";

/// What findings are compared with, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against<'a> {
    Baseline,
    /// A revision, as the user names it.
    Revision(&'a str),
}

impl Against<'_> {
    fn more(self, now: u64, architecture: &str, before: u64) -> String {
        match self {
            Self::Baseline => format!("{now} B on {architecture}; the baseline has {before} B"),
            Self::Revision(name) => format!("{now} B on {architecture}; `{name}` has {before} B"),
        }
    }

    fn not_there(self, elsewhere: &BTreeSet<&str>) -> String {
        let only: Vec<&str> = elsewhere.iter().copied().collect();
        match (self, only.is_empty()) {
            (Self::Baseline, true) => "it is not in the baseline".to_string(),
            (Self::Baseline, false) => format!("the baseline has it for {} only", only.join(", ")),
            (Self::Revision(name), true) => format!("`{name}` does not have it"),
            (Self::Revision(name), false) => format!("`{name}` has it for {} only", only.join(", ")),
        }
    }
}

impl Baseline {
    /// The same findings, with file names mapped by `name`.
    pub fn with_files(self, name: impl Fn(&str) -> String) -> Self {
        let renamed = |(key, bytes): (EntryKey, _)| (EntryKey { file: name(&key.file), ..key }, bytes);
        Self { ceilings: self.ceilings.into_iter().map(renamed).collect() }
    }

    /// The findings of a report.
    pub fn of(diagnostics: &[Diagnostic]) -> Self {
        let mut baseline = Self::default();
        for diagnostic in diagnostics {
            for (key, architecture, bytes) in instances(diagnostic) {
                *baseline.ceilings.entry(key).or_default().entry(architecture).or_default() += bytes;
            }
        }
        baseline
    }

    /// Without the budgets of architectures that nobody asked for then: a budget is for those of the run.
    pub fn without_budgets(mut self, is_new: impl Fn(&str) -> bool) -> Self {
        for (_, bytes) in self.ceilings.iter_mut().filter(|(key, _)| key.lint == BUDGET) {
            bytes.retain(|architecture, _| !is_new(architecture));
        }
        self.ceilings.retain(|_, bytes| !bytes.is_empty());
        self
    }

    /// What a file keeps of the findings: budgets are ceilings of their own.
    pub fn to_keep(diagnostics: &[Diagnostic]) -> Self {
        let mut baseline = Self::of(diagnostics);
        baseline.ceilings.retain(|key, _| key.lint != BUDGET);
        baseline
    }

    /// Reads a baseline file.
    ///
    /// # Errors
    /// The file does not exist, or is not a baseline.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let read = places::read(path, MAX_BYTES);
        let bytes = read.map_err(|error| BaselineError::Read { path: path.to_path_buf(), error })?;
        let form = |line: usize, problem: String| BaselineError::Form { path: path.to_path_buf(), line, problem };
        let text = String::from_utf8(bytes).map_err(|_| form(1, "is not text".to_string()))?;
        // Some editors begin a file with a byte order mark.
        let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        if lines.next().map(|(_, line)| line.trim()) != Some(HEADING) {
            return Err(form(1, format!("is not `{HEADING}`")));
        }
        let mut baseline = Self::default();
        // After a merge, the first line may occur twice.
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty() && line.trim() != HEADING) {
            if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark)) {
                return Err(form(index + 1, "is the mark of a conflict".to_string()));
            }
            let line: BaselineLine =
                serde_json::from_str(line).map_err(|error| form(index + 1, format!("says: {}", reason(&error))))?;
            // Older versions wrote them.
            if line.lint == BUDGET {
                continue;
            }
            let key = EntryKey { lint: line.lint, file: line.file, kernel: line.kernel, variable: line.variable };
            let known = baseline.ceilings.entry(key).or_default();
            for (architecture, bytes) in line.bytes {
                let ceiling = known.entry(architecture).or_default();
                *ceiling = bytes.max(*ceiling);
            }
        }
        Ok(baseline)
    }

    /// What a file has that a baseline is to be written to; settings of the tree may name any file there. One that is not ours is not
    /// replaced, unless it is empty; a baseline that is damaged is.
    ///
    /// # Errors
    /// There is no baseline yet, or one that cannot be read, which is the inner error; the outer one if it is another file.
    pub fn read_to_replace(path: &Path) -> Result<Result<Self, BaselineError>, BaselineError> {
        match Self::read(path) {
            Err(BaselineError::Form { line: 1, .. }) if path.metadata().is_ok_and(|found| found.len() > 0) => {
                Err(BaselineError::Foreign(path.to_path_buf()))
            }
            Err(BaselineError::Read { .. }) if path.metadata().is_ok_and(|it| it.is_file() && it.len() > MAX_BYTES) => {
                Err(BaselineError::Foreign(path.to_path_buf()))
            }
            read => Ok(read),
        }
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), BaselineError> {
        let lines = self.ceilings.iter().filter_map(|(key, bytes)| {
            let EntryKey { lint, file, kernel, variable } = key.clone();
            // Serializing a structure of strings and numbers does not fail.
            serde_json::to_string(&BaselineLine { lint, file, kernel, variable, bytes: bytes.clone() }).ok()
        });
        let text = std::iter::once(HEADING.to_string()).chain(lines).map(|line| line + "\n").collect::<String>();
        // Where a pipe of the workspace lies in its place, nobody would read it.
        let is_special = path.metadata().is_ok_and(|found| !found.is_file());
        let written = match is_special {
            true => Err(std::io::Error::other("it is not a regular file")),
            false => lmem_base::files::write_output(path, text.as_bytes(), &[]),
        };
        written.map_err(|error| BaselineError::Write { path: path.to_path_buf(), error })
    }

    /// Adds the figures of an older baseline for architectures that the run did not compile for.
    pub fn keep_architectures(&mut self, older: Self, compiled: &[String]) {
        let mut others = older;
        for bytes in others.ceilings.values_mut() {
            bytes.retain(|architecture, _| !compiled.contains(architecture));
        }
        others.ceilings.retain(|_, bytes| !bytes.is_empty());
        self.keep(others);
    }

    /// Adds the entries of an older baseline that this one lacks, or has for other architectures: they belong to files
    /// that the run did not check.
    pub fn keep(&mut self, older: Self) {
        for (key, bytes) in older.ceilings {
            let known = self.ceilings.entry(key).or_default();
            for (architecture, bytes) in bytes {
                known.entry(architecture).or_insert(bytes);
            }
        }
    }

    /// The same findings, with those of kernels that moved under the new file's name, and those of variables under the
    /// new variable's name: an entry that is gone, where there is now a single new finding that differs in nothing
    /// else. To be asked only where all files were checked: else a copy would count as moved.
    pub fn following(self, diagnostics: &[Diagnostic]) -> Self {
        let now = Self::of(diagnostics);
        let moved = |key: &EntryKey, _: &Ceilings| (key.lint.clone(), key.kernel.clone(), key.variable.clone());
        // Of other variables, only one that takes as much is the same one.
        let renamed =
            |key: &EntryKey, bytes: &Ceilings| (key.lint.clone(), key.file.clone(), key.kernel.clone(), bytes.clone());
        self.matched(&now, moved).matched(&now, renamed)
    }

    /// The same findings, with entries that are gone under the keys of new ones, where one of each is alike.
    fn matched<L: Ord>(mut self, now: &Self, likeness: impl Fn(&EntryKey, &Ceilings) -> L) -> Self {
        let mut candidates: BTreeMap<L, (Vec<EntryKey>, Vec<EntryKey>)> = BTreeMap::new();
        // Remarks on the options of a file belong to that file.
        let lacks = |other: &Self, key: &EntryKey| !key.kernel.is_empty() && !other.ceilings.contains_key(key);
        for (key, bytes) in self.ceilings.iter().filter(|(key, _)| lacks(now, key)) {
            candidates.entry(likeness(key, bytes)).or_default().0.push(key.clone());
        }
        for (key, bytes) in now.ceilings.iter().filter(|(key, _)| lacks(&self, key)) {
            candidates.entry(likeness(key, bytes)).or_default().1.push(key.clone());
        }
        for (gone, new) in candidates.into_values() {
            if let ([gone], [new]) = (gone.as_slice(), new.as_slice())
                && let Some(bytes) = self.ceilings.remove(gone)
            {
                self.ceilings.insert(new.clone(), bytes);
            }
        }
        self
    }

    /// Number of findings, each counted once for all its architectures.
    pub fn len(&self) -> usize {
        self.ceilings.len()
    }

    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.ceilings.is_empty()
    }

    /// Keeps findings that are new or larger than before, as errors, and removes known ones. A finding of several
    /// kernels keeps the kernels for which it is new.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>, against: Against<'_>) -> BaselineTally {
        let now = Self::of(diagnostics);
        let mut tally = BaselineTally::default();
        for (key, before) in &self.ceilings {
            let found = now.ceilings.get(key);
            let is_less =
                |(name, ceiling): (&String, &u64)| found.and_then(|now| now.get(name)).is_some_and(|now| now < ceiling);
            match found {
                None => tally.gone += 1,
                Some(_) if before.iter().any(is_less) => tally.smaller += 1,
                Some(_) => continue,
            }
            let EntryKey { lint, file, kernel, variable } = key.clone();
            let (before, now) = (before.clone(), found.cloned().unwrap_or_default());
            tally.improved.push(ImprovedEntry { lint, file, kernel, variable, before, now });
        }
        let all = std::mem::take(diagnostics);
        *diagnostics =
            all.into_iter().filter_map(|diagnostic| self.judge(diagnostic, &now, against, &mut tally)).collect();
        tally
    }

    fn judge(
        &self,
        mut diagnostic: Diagnostic,
        now: &Self,
        against: Against<'_>,
        tally: &mut BaselineTally,
    ) -> Option<Diagnostic> {
        let Code::Lint(lint) = diagnostic.code else { return Some(diagnostic) };
        if lint == BUDGET && against == Against::Baseline {
            return Some(diagnostic);
        }
        let mut notes: Vec<String> = Vec::new();
        let mut is_worse = false;
        let mut is_too_much = |key: &EntryKey, architecture: &str| {
            let bytes = |baseline: &Self| baseline.ceilings.get(key)?.get(architecture).copied();
            match (bytes(self), bytes(now).unwrap_or(0)) {
                (Some(ceiling), now) if now <= ceiling => false,
                (Some(ceiling), now) => {
                    is_worse = true;
                    notes.push(against.more(now, architecture, ceiling));
                    true
                }
                (None, _) => true,
            }
        };
        let keeps: Vec<bool> =
            instances(&diagnostic).iter().map(|(key, architecture, _)| is_too_much(key, architecture)).collect();
        if !keeps.contains(&true) {
            tally.known += 1;
            return None;
        }
        if let Some(evidence) = diagnostic.evidence.as_mut().filter(|evidence| !evidence.kernels.is_empty()) {
            let mut keeps = keeps.iter();
            evidence.kernels.retain(|_| keeps.next().copied().unwrap_or(true));
            evidence.bytes = evidence.kernels.iter().map(|kernel| kernel.bytes).max().unwrap_or(evidence.bytes);
        }
        notes.sort();
        notes.dedup();
        match is_worse {
            true => tally.worse += 1,
            false => {
                tally.new += 1;
                let keys = instances(&diagnostic).into_iter().filter_map(|(key, ..)| self.ceilings.get(&key));
                let elsewhere: BTreeSet<String> = keys.flat_map(|bytes| bytes.keys().cloned()).collect();
                notes.push(against.not_there(&elsewhere.iter().map(String::as_str).collect()));
            }
        }
        diagnostic.notes.extend(notes);
        if diagnostic.severity == Severity::Warning {
            diagnostic.severity = Severity::Error;
        }
        Some(diagnostic)
    }
}

/// A stable name of a finding for tools that keep their own list, such as code scanning: derived from the baseline's
/// identity, with the first kernel. Source lines are not part of it.
pub fn identity(diagnostic: &Diagnostic) -> String {
    let known = instances(diagnostic).into_iter().map(|(key, ..)| key).min();
    let key = known.unwrap_or_else(|| EntryKey {
        lint: diagnostic.code.id(),
        file: diagnostic.primary.as_ref().map(|label| label.span.file.display.clone()).unwrap_or_default(),
        kernel: String::new(),
        variable: Some(diagnostic.message.clone()),
    });
    let parts = [key.lint, key.file, key.kernel, key.variable.unwrap_or_default()];
    blake3::hash(parts.join("\0").as_bytes()).to_hex()[..DIGITS].to_string()
}

/// Digits of that name: enough for all findings of a project.
const DIGITS: usize = 16;

/// The kernels of a finding, with its bytes in each; a finding without kernels counts once, without bytes.
fn instances(diagnostic: &Diagnostic) -> Vec<(EntryKey, String, u64)> {
    let Code::Lint(lint) = diagnostic.code else { return Vec::new() };
    let file = diagnostic.primary.as_ref().map(|label| label.span.file.display.clone()).unwrap_or_default();
    let evidence = diagnostic.evidence.as_ref();
    let variable = evidence.and_then(|evidence| evidence.variable.clone()).filter(|_| !OF_A_KERNEL.contains(&lint));
    let key = |kernel: &str| EntryKey {
        lint: lint.to_string(),
        file: file.clone(),
        kernel: kernel.to_string(),
        variable: variable.clone(),
    };
    match evidence.map(|evidence| evidence.kernels.as_slice()) {
        None | Some([]) => vec![(key(""), "any".to_string(), 1)],
        Some(kernels) => kernels.iter().map(|kernel| (key(&kernel.name), kernel.arch.clone(), kernel.bytes)).collect(),
    }
}

/// serde's words without its place: a line of the file is a text of its own to it.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_kernel_may_move_to_another_file() {
        let at = |file: &str, width: u64| {
            let mut diagnostic = samples::instance(width, "sm_90");
            let label = diagnostic.primary.as_mut().unwrap();
            let text = label.span.file.text().to_string();
            let (start, end) = (label.span.start, label.span.end);
            label.span =
                lmem_base::source::Span::new(&lmem_base::source::SourceFile::from_text(file, &text), start..end);
            diagnostic
        };
        let judged = |known: &[Diagnostic], now: &[Diagnostic]| {
            let mut now = now.to_vec();
            let tally = Baseline::of(known).following(&now).apply(&mut now, Against::Baseline);
            (tally.known, tally.new, tally.worse, tally.gone)
        };
        assert_eq!(judged(&[at("a.cu", 32)], &[at("b.cu", 32)]), (1, 0, 0, 0));
        // A copy is new, and so is what may have come from either of two.
        assert_eq!(judged(&[at("a.cu", 32)], &[at("a.cu", 32), at("b.cu", 32)]), (1, 1, 0, 0));
        assert_eq!(judged(&[at("a.cu", 32), at("c.cu", 32)], &[at("b.cu", 32)]), (0, 1, 0, 2));
        let mut larger = at("b.cu", 32);
        larger.evidence.as_mut().unwrap().kernels[0].bytes += 8;
        assert_eq!(judged(&[at("a.cu", 32)], &[larger]), (0, 0, 1, 0));
    }

    #[test]
    fn a_variable_may_get_another_name() {
        let now = found(&[(32, "sm_90")]);
        let entry = |variable: &str, less: u64| {
            let (key, bytes) = Baseline::of(&now).ceilings.into_iter().next().unwrap();
            let bytes = bytes.into_iter().map(|(architecture, bytes)| (architecture, bytes - less)).collect();
            (EntryKey { variable: Some(variable.to_string()), ..key }, bytes)
        };
        let is_known = |entries: &[(EntryKey, Ceilings)]| {
            let before = Baseline { ceilings: entries.iter().cloned().collect() };
            let tally = before.following(&now).apply(&mut now.clone(), Against::Baseline);
            (tally.known, tally.new, tally.gone)
        };
        assert_eq!(is_known(&[entry("old", 0)]), (1, 0, 0));
        // More bytes are not a new name alone, and two may be either one.
        assert_eq!(is_known(&[entry("old", 8)]), (0, 1, 1));
        assert_eq!(is_known(&[entry("old", 0), entry("older", 0)]), (0, 1, 2));
    }

    #[test]
    fn an_identity_outlives_moved_lines_and_new_instances() {
        let of = |widths: &[(u64, &str)]| identity(&found(widths)[0]);
        assert_eq!(of(&[(32, "sm_90")]), of(&[(32, "sm_80")]));
        assert_ne!(of(&[(32, "sm_90")]), of(&[(64, "sm_90")]));
        let mut moved = samples::instance(32, "sm_90");
        let before = identity(&moved);
        let label = moved.primary.as_mut().unwrap();
        let file = lmem_base::source::SourceFile::from_text(&label.span.file.display, "// moved\nfloat window[W];\n");
        label.span = lmem_base::source::Span::new(&file, 15..21);
        assert_eq!(identity(&moved), before);
        moved
            .evidence
            .as_mut()
            .unwrap()
            .kernels
            .push(samples::instance(64, "sm_90").evidence.unwrap().kernels.remove(0));
        assert_eq!(identity(&moved), before);
    }

    fn found(widths: &[(u64, &str)]) -> Vec<Diagnostic> {
        widths.iter().map(|(width, arch)| samples::instance(*width, arch)).collect()
    }

    fn judged(known: &[(u64, &str)], now: &[(u64, &str)]) -> (BaselineTally, Vec<Diagnostic>) {
        let mut now = found(now);
        let tally = Baseline::of(&found(known)).apply(&mut now, Against::Baseline);
        (tally, now)
    }

    #[test]
    fn what_is_known_goes_and_what_is_new_is_an_error() {
        let (tally, left) = judged(&[(32, "sm_90")], &[(32, "sm_90")]);
        assert_eq!((tally.known, left.len()), (1, 0));
        let (tally, left) = judged(&[], &[(32, "sm_90")]);
        assert_eq!((tally.new, left[0].severity), (1, Severity::Error));
        // Each template instance is a kernel of its own.
        let (tally, left) = judged(&[(32, "sm_90")], &[(32, "sm_90"), (64, "sm_90")]);
        assert_eq!((tally.known, tally.new, left.len()), (1, 1, 1));
        // On another architecture, it is a new finding.
        let (tally, _) = judged(&[(32, "sm_90")], &[(32, "sm_90"), (32, "sm_80")]);
        assert_eq!((tally.known, tally.new), (1, 1));
    }

    #[test]
    fn another_architecture_is_named_and_loses_nothing() {
        let (_, left) = judged(&[(32, "sm_90")], &[(32, "sm_80")]);
        assert!(left[0].notes.contains(&"the baseline has it for sm_90 only".to_string()), "{:?}", left[0].notes);
        let mut written = Baseline::to_keep(&found(&[(32, "sm_80")]));
        written.keep_architectures(Baseline::of(&found(&[(32, "sm_90"), (64, "sm_80")])), &["sm_80".to_string()]);
        let names: Vec<&str> = written.ceilings.values().flat_map(BTreeMap::keys).map(String::as_str).collect();
        assert_eq!((written.len(), names), (1, vec!["sm_80", "sm_90"]));
    }

    #[test]
    fn a_budget_is_never_known() {
        let mut budget = samples::instance(32, "sm_90");
        budget.code = Code::Lint(BUDGET);
        assert!(Baseline::to_keep(std::slice::from_ref(&budget)).is_empty());
        let known = Baseline::of(std::slice::from_ref(&budget));
        let mut now = vec![budget];
        known.apply(&mut now, Against::Baseline);
        assert_eq!(now.len(), 1);
        known.apply(&mut now, Against::Revision("main"));
        assert!(now.is_empty(), "what a revision had blocks nobody");
    }

    #[test]
    fn what_was_not_checked_is_not_gone() {
        let mut tally = Baseline::of(&found(&[(32, "sm_90"), (64, "sm_90")])).apply(&mut Vec::new(), Against::Baseline);
        assert_eq!(tally.gone, 2);
        tally.forget_gone(|entry| entry.kernel.contains("64"));
        assert_eq!((tally.gone, tally.improved.len()), (1, 1));
    }

    #[test]
    fn bytes_may_only_go_down() {
        let with_bytes = |bytes: u64| {
            let mut diagnostic = samples::instance(32, "sm_90");
            let evidence = diagnostic.evidence.as_mut().unwrap();
            evidence.kernels[0].bytes = bytes;
            diagnostic
        };
        let baseline = Baseline::of(&[with_bytes(128)]);
        let mut more = vec![with_bytes(192)];
        let tally = baseline.apply(&mut more, Against::Baseline);
        assert_eq!((tally.worse, more[0].severity), (1, Severity::Error));
        assert!(more[0].notes.contains(&"192 B on sm_90; the baseline has 128 B".to_string()), "{:?}", more[0].notes);
        let mut less = vec![with_bytes(64)];
        let tally = baseline.apply(&mut less, Against::Baseline);
        assert_eq!((tally.known, tally.smaller, tally.gone, less.len()), (1, 1, 0, 0));
        assert_eq!(tally.improved.len(), 1);
        let said = tally.improved[0].to_string();
        assert!(said.ends_with("(dynamic_index): sm_90 128 → 64 B"), "{said}");
        let tally = baseline.apply(&mut Vec::new(), Against::Baseline);
        assert_eq!(tally.gone, 1);
        assert!(tally.improved[0].to_string().ends_with("(dynamic_index): gone"));
        // A second array of the same name needs its own bytes.
        let mut twice = vec![with_bytes(128), with_bytes(128)];
        assert_eq!(baseline.apply(&mut twice, Against::Baseline).worse, 2);
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(DEFAULT_NAME);
        let baseline = Baseline::of(&found(&[(32, "sm_90"), (32, "sm_80"), (64, "sm_90")]));
        baseline.write(&path).unwrap();
        assert_eq!(Baseline::read(&path).unwrap(), baseline);
        let text = fs_err::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        // Two branches that both added a line, merged by git's union driver.
        fs_err::write(&path, format!("{text}{}", text.replace("128", "256"))).unwrap();
        let merged = Baseline::read(&path).unwrap();
        assert_eq!((merged.len(), merged != baseline), (2, true));
    }

    #[test]
    fn what_is_no_baseline_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        for (text, expected) in [
            ("", "line 1"),
            ("[]", "line 1"),
            (&format!("{HEADING}\n{{}}")[..], "line 2 says: missing field `lint`"),
            (&format!("{HEADING}\n<<<<<<< HEAD\n")[..], "line 2 is the mark of a conflict"),
        ] {
            fs_err::write(&path, text).unwrap();
            let error = Baseline::read(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(!Baseline::read(&folder.path().join("none")).unwrap_err().hints().is_empty());
        assert!(Baseline::read(folder.path()).is_err());
    }

    #[test]
    fn parts_of_a_project_keep_the_rest() {
        let mut part = Baseline::of(&found(&[(32, "sm_90")]));
        part.keep(Baseline::of(&found(&[(32, "sm_80"), (64, "sm_90")])));
        assert_eq!(part, Baseline::of(&found(&[(32, "sm_90"), (32, "sm_80"), (64, "sm_90")])));
    }
}
