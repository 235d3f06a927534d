//! Findings against labels, for one architecture.

use std::collections::BTreeSet;
use std::fmt;

use lmem_base::diagnostic::Diagnostic;

use crate::harness::recorded::is_lint;
use crate::labels::{Label, Labels, Place};
use crate::truth::{Truth, plain_name};

/// The lint that claims what no other explains.
const UNEXPLAINED: &str = "unexplained_local_memory";

/// Lints that never speak of a variable, so that they explain nothing but what they are about.
const ABOUT_NO_VARIABLE: &[&str] = &["debug_build", "printf_buffer", "register_spill", "slow_path_math"];

/// Remarks on kernels that spill.
const ABOUT_SPILLS: &[&str] = &["missing_launch_bounds", "shared_spill_available"];

/// What the tool says of one kernel.
#[derive(Debug, Clone)]
pub struct Finding {
    pub lint: String,
    /// Without template arguments; empty where it speaks of a whole file.
    kernel: String,
    variable: Option<String>,
    pub bytes: u64,
    primary: Option<Place>,
    places: BTreeSet<Place>,
}

/// How well a label is met.
#[derive(Debug)]
pub struct Verdict {
    pub label: Label,
    /// The finding that explains the object.
    finding: Option<Finding>,
    /// What else is said of the kernel, for whoever asks why.
    others: Vec<Finding>,
    pub is_found: bool,
    pub cause: bool,
    /// `None` where the question does not arise.
    pub variable: Option<bool>,
    pub declaration: Option<bool>,
    pub access: Option<bool>,
}

#[derive(Debug)]
pub struct Comparison {
    pub architecture: String,
    pub verdicts: Vec<Verdict>,
    /// Findings that no label speaks of.
    pub false_positives: Vec<Finding>,
    pub unexplained: Vec<Finding>,
    pub clean_kernels: usize,
    pub clean_with_findings: BTreeSet<String>,
}

pub fn compare(labels: &Labels, truth: &Truth, diagnostics: &[Diagnostic], architecture: &str) -> Comparison {
    let findings: Vec<Finding> = diagnostics.iter().flat_map(|it| findings_of(it, architecture)).collect();
    let labels_here: Vec<&Label> = labels.labels.iter().filter(|label| label.holds(truth, architecture)).collect();
    let chosen = assign(&labels_here, &findings);
    let verdict = |(label, finding): (&&Label, &Option<usize>)| {
        let finding = finding.map(|index| findings[index].clone());
        let others = findings.iter().filter(|finding| finding.is_about(label)).cloned().collect();
        Verdict::new((*label).clone(), finding, others)
    };
    let verdicts = labels_here.iter().zip(&chosen).map(verdict).collect();
    let is_free = |index: usize| !chosen.contains(&Some(index));
    let is_extra =
        |finding: &Finding| !labels_here.iter().any(|label| finding.repeats(label) || finding.is_remark_on(label));
    let false_positives = findings
        .iter()
        .enumerate()
        .filter(|(index, finding)| finding.lint != UNEXPLAINED && is_free(*index) && is_extra(finding));
    let false_positives = false_positives.map(|(_, finding)| finding.clone()).collect();
    let is_clean = |finding: &&Finding| labels.clean.iter().any(|name| crate::truth::is_named(&finding.kernel, name));
    Comparison {
        architecture: architecture.to_string(),
        verdicts,
        false_positives,
        unexplained: findings.iter().filter(|finding| finding.lint == UNEXPLAINED).cloned().collect(),
        clean_kernels: labels.clean.len(),
        clean_with_findings: findings.iter().filter(is_clean).map(|finding| finding.kernel.clone()).collect(),
    }
}

/// A diagnostic as findings, one for each kernel; instances of a template are one.
fn findings_of(diagnostic: &Diagnostic, architecture: &str) -> Vec<Finding> {
    if !is_lint(diagnostic) {
        return Vec::new();
    }
    let kernels = diagnostic.evidence.iter().flat_map(|evidence| &evidence.kernels);
    let mut named: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    let mut is_of_kernels = false;
    for kernel in kernels {
        is_of_kernels = true;
        if kernel.arch == architecture {
            *named.entry(plain_name(&kernel.name)).or_default() += kernel.bytes;
        }
    }
    if !is_of_kernels {
        // What is said of a whole unit holds for every architecture.
        named.insert(String::new(), 0);
    }
    let place = |label: &lmem_base::diagnostic::Label| (label.span.file.display.clone(), label.span.start_line());
    let finding = |(kernel, bytes)| Finding {
        lint: diagnostic.code.name().to_string(),
        kernel,
        variable: diagnostic.evidence.as_ref().and_then(|evidence| evidence.variable.clone()),
        bytes,
        primary: diagnostic.primary.as_ref().map(place),
        places: diagnostic.primary.iter().chain(&diagnostic.secondary).map(place).collect(),
    };
    named.into_iter().map(finding).collect()
}

/// For each label the finding that fits best. A finding explains one object, except that functions which are no
/// kernels of their own may share what is said of the kernel that calls them.
fn assign(labels: &[&Label], findings: &[Finding]) -> Vec<Option<usize>> {
    let mut pairs: Vec<(u32, usize, usize)> = Vec::new();
    for (label_index, label) in labels.iter().enumerate() {
        let fits = findings.iter().enumerate().map(|(index, finding)| (finding.fit(label), label_index, index));
        pairs.extend(fits.filter(|(fit, _, _)| *fit > 0));
    }
    pairs.sort_by_key(|(fit, label, finding)| (std::cmp::Reverse(*fit), *label, *finding));
    let mut chosen = vec![None; labels.len()];
    for (_, label, finding) in pairs {
        let is_shared = labels[label].kernels.len() > 1 && !labels[label].is_variable();
        if chosen[label].is_none() && (is_shared || !chosen.contains(&Some(finding))) {
            chosen[label] = Some(finding);
        }
    }
    chosen
}

impl Finding {
    /// Whether it is a way out for what the label says, which claims no bytes.
    fn is_remark_on(&self, label: &Label) -> bool {
        ABOUT_SPILLS.contains(&self.lint.as_str()) && self.bytes == 0 && label.is_spills() && self.is_about(label)
    }

    fn is_about(&self, label: &Label) -> bool {
        let is_of_file =
            self.kernel.is_empty() && self.primary.as_ref().is_some_and(|(file, _)| *file == label.place.0);
        is_of_file || (!self.kernel.is_empty() && label.is_of(&self.kernel))
    }

    fn has_cause(&self, label: &Label) -> bool {
        label.lints.contains(&self.lint)
    }

    fn has_variable(&self, label: &Label) -> bool {
        self.variable.as_ref().is_some_and(|variable| label.names.contains(variable))
    }

    fn has_place_of(&self, places: &BTreeSet<Place>) -> bool {
        !self.places.is_disjoint(places)
    }

    /// How well it fits a label, 0 where it speaks of something else.
    fn fit(&self, label: &Label) -> u32 {
        if !self.is_about(label) {
            return 0;
        }
        let variable = self.has_variable(label);
        // What is unexplained points at whatever line there is.
        let explains = self.lint != UNEXPLAINED;
        let is_other = label.is_variable() && self.variable.is_some() && !variable;
        let declaration = explains && label.is_variable() && self.has_place_of(&label.declarations);
        let access = explains && self.has_place_of(&label.accesses);
        let cause = self.has_cause(label);
        let is_impossible = ABOUT_NO_VARIABLE.contains(&self.lint.as_str()) && !cause;
        if is_impossible || (label.is_spills() && !cause) {
            return 0;
        }
        let fit = 16 * u32::from(variable) + 8 * u32::from(declaration) + 4 * u32::from(access) + 2 * u32::from(cause);
        // One that names another variable is the worse choice of two.
        if fit > 0 && !is_other { fit + 1 } else { fit }
    }

    /// Whether it says once more what a label says, in other words.
    fn repeats(&self, label: &Label) -> bool {
        // A kernel and the functions that it calls may each have a part of what a label speaks of.
        let is_shared = label.kernels.len() > 1 && !label.is_variable();
        self.is_about(label)
            && ((is_shared && self.has_cause(label))
                || self.has_variable(label)
                || self.primary.as_ref().is_some_and(|place| label.is_variable() && label.declarations.contains(place)))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = self.primary.clone().unwrap_or_default();
        let variable = self.variable.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
        write!(formatter, "{file}:{line}: `{}`: {}{variable}, {} bytes", self.kernel, self.lint, self.bytes)
    }
}

impl Verdict {
    fn new(label: Label, finding: Option<Finding>, others: Vec<Finding>) -> Self {
        let is = |question: &dyn Fn(&Finding) -> bool| finding.as_ref().is_some_and(question);
        let has_place = label.is_variable() || label.is_spills();
        Self {
            is_found: finding.is_some(),
            cause: is(&|finding| finding.has_cause(&label)),
            variable: label.is_variable().then(|| is(&|finding| finding.has_variable(&label))),
            declaration: has_place.then(|| is(&|finding| finding.has_place_of(&label.declarations))),
            access: (!label.accesses.is_empty()).then(|| is(&|finding| finding.has_place_of(&label.accesses))),
            label,
            finding,
            others,
        }
    }

    /// What is wrong, in a line.
    pub fn miss(&self) -> Option<String> {
        let label = &self.label;
        let lines = |places: &BTreeSet<Place>| {
            let lines: Vec<String> = places.iter().map(|(_, line)| line.to_string()).collect();
            lines.join(" or ")
        };
        let mut wrong = Vec::new();
        if !self.cause {
            wrong.push(format!("cause {}", label.lints.join(" or ")));
        }
        if self.variable == Some(false) {
            wrong.push("the variable".to_string());
        }
        if self.declaration == Some(false) {
            wrong.push(format!("declaration at {}", lines(&label.declarations)));
        }
        if self.access == Some(false) {
            wrong.push(format!("access at {}", lines(&label.accesses)));
        }
        if wrong.is_empty() {
            return None;
        }
        let said = match &self.finding {
            Some(finding) => format!("missed: {}; said: {}", wrong.join(", "), finding.summary()),
            None if self.others.is_empty() => "not found; nothing is said of the kernel".to_string(),
            None => {
                let others: Vec<String> = self.others.iter().map(Finding::summary).collect();
                format!("not found; said of the kernel: {}", others.join("; "))
            }
        };
        let (file, line) = &label.place;
        let (kernel, name, lints) = (label.kernels.join("|"), label.names.join("|"), label.lints.join(" | "));
        Some(format!("{file}:{line}: `{kernel}` `{name}` {lints}: {said}"))
    }
}

impl Finding {
    fn summary(&self) -> String {
        let variable = self.variable.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
        let lines: Vec<String> = self.places.iter().map(|(_, line)| line.to_string()).collect();
        format!("{}{variable} ({} bytes, lines {})", self.lint, self.bytes, lines.join(" "))
    }
}
