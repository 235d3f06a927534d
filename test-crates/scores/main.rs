//! How much of what lies in local memory the tool explains, and how well.
//!
//! The kernels of `labelled/` carry labels that people decided on, from the source, the PTX and the machine code. This
//! program runs the tool on their record, for every architecture and with all lints at `warn`, and counts, lint by lint,
//! how many of the labelled objects are found, and of how many the cause, the variable, the line of the declaration
//! and the line of the guilty access are right; then what it reports without a label.
//!
//! | to | run |
//! |---|---|
//! | see the scores | `cargo test --test scores` |
//! | see what is missed | `cargo test --test scores -- --misses` |
//!
//! It fails where a score falls below [`FLOOR`]. What labels look like is said in `labels.rs`.

#[path = "../harness/mod.rs"]
#[expect(dead_code, reason = "shared with the other tests of the test crates")]
mod harness;
mod labels;
mod matching;
mod truth;

use std::collections::BTreeMap;
use std::process::ExitCode;

use harness::crates::{self, TestCrate};
use harness::run::ARCHITECTURES;
use harness::{Problem, recorded};

use labels::Labels;
use matching::{Comparison, Verdict, compare};
use truth::Truth;

/// What must be reached, over all lints and architectures.
const FLOOR: Floor = Floor {
    found: 99.0,
    cause: 99.0,
    variable: 96.0,
    declaration: 98.0,
    access: 97.5,
    false_positives: 0,
    unexplained: 0,
    clean_kernels: 0,
};

/// Percents at least, and numbers at most.
struct Floor {
    found: f64,
    cause: f64,
    variable: f64,
    declaration: f64,
    access: f64,
    false_positives: usize,
    unexplained: usize,
    clean_kernels: usize,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Nothing to list, and a filter that means other tests.
    let is_filter = |argument: &String| !argument.starts_with('-') && !"scores".contains(argument.as_str());
    if arguments.iter().any(|argument| argument == "--list" || is_filter(argument)) {
        return ExitCode::SUCCESS;
    }
    match scores(arguments.iter().any(|argument| argument == "--misses")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn scores(with_misses: bool) -> Result<(), Problem> {
    let labelled = TestCrate::new(crates::LABELLED.to_string());
    let labels = Labels::read(&labelled)?;
    let (outcome, given) = recorded::check(&labelled, &[&recorded::every_lint()])?;
    let truth = Truth::new(&given)?;
    labels.check(&truth)?;
    let comparisons: Vec<Comparison> = ARCHITECTURES
        .iter()
        .map(|architecture| compare(&labels, &truth, &outcome.report.diagnostics, architecture))
        .collect();
    for (architecture, comparison) in ARCHITECTURES.iter().zip(&comparisons) {
        println!("{}", Scores::of([comparison]).table(architecture));
    }
    let total = Scores::of(&comparisons);
    println!("{}", total.table("all architectures"));
    if with_misses {
        println!("{}", misses(&comparisons));
    }
    total.compare(&FLOOR)
}

/// So many of so many.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    right: usize,
    of: usize,
}

impl Share {
    /// Counts one more, unless the question does not arise.
    fn count(&mut self, answer: Option<bool>) {
        self.of += usize::from(answer.is_some());
        self.right += usize::from(answer == Some(true));
    }

    fn add(&mut self, other: Self) {
        self.right += other.right;
        self.of += other.of;
    }

    fn percent(self) -> f64 {
        if self.of == 0 { 100.0 } else { 100.0 * self.right as f64 / self.of as f64 }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.of {
            0 => formatter.pad("-"),
            of => formatter.pad(&format!("{}/{of} {:3.0}%", self.right, self.percent())),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    found: Share,
    cause: Share,
    variable: Share,
    declaration: Share,
    access: Share,
    false_positives: usize,
}

impl Row {
    fn count(&mut self, verdict: &Verdict) {
        self.found.count(Some(verdict.is_found));
        self.cause.count(Some(verdict.cause));
        self.variable.count(verdict.variable);
        self.declaration.count(verdict.declaration);
        self.access.count(verdict.access);
    }

    fn add(&mut self, other: &Self) {
        self.found.add(other.found);
        self.cause.add(other.cause);
        self.variable.add(other.variable);
        self.declaration.add(other.declaration);
        self.access.add(other.access);
        self.false_positives += other.false_positives;
    }

    fn line(&self, name: &str) -> String {
        let shares = [self.found, self.cause, self.variable, self.declaration, self.access];
        let shares: String = shares.iter().map(|share| format!("{share:>14}")).collect();
        format!("{name:24}{:>9}{shares}{:>7}\n", self.found.of, self.false_positives)
    }
}

/// Scores of one architecture or several.
#[derive(Default)]
struct Scores {
    rows: BTreeMap<String, Row>,
    unexplained: usize,
    unexplained_bytes: u64,
    clean_kernels: Share,
}

impl Scores {
    fn of<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Self {
        let mut scores = Self::default();
        for comparison in comparisons {
            for verdict in &comparison.verdicts {
                scores.rows.entry(verdict.label.lints[0].clone()).or_default().count(verdict);
            }
            for finding in &comparison.false_positives {
                scores.rows.entry(finding.lint.clone()).or_default().false_positives += 1;
            }
            scores.unexplained += comparison.unexplained.len();
            scores.unexplained_bytes += comparison.unexplained.iter().map(|finding| finding.bytes).sum::<u64>();
            let silent = comparison.clean_kernels - comparison.clean_with_findings.len();
            scores.clean_kernels.add(Share { right: silent, of: comparison.clean_kernels });
        }
        scores
    }

    fn total(&self) -> Row {
        let mut total = Row::default();
        self.rows.values().for_each(|row| total.add(row));
        total
    }

    fn table(&self, title: &str) -> String {
        let heads = ["found", "cause", "variable", "declaration", "access"];
        let heads: String = heads.iter().map(|head| format!("{head:>14}")).collect();
        let mut text = format!("{title:24}{:>9}{heads}{:>7}\n", "labelled", "extra");
        for (name, row) in &self.rows {
            text.push_str(&row.line(name));
        }
        text.push_str(&self.total().line("total"));
        text.push_str(&format!(
            "unexplained: {} findings, {} bytes; clean kernels that stay silent: {}\n",
            self.unexplained, self.unexplained_bytes, self.clean_kernels
        ));
        text
    }

    fn compare(&self, floor: &Floor) -> Result<(), Problem> {
        let total = self.total();
        let shares = [
            ("found", total.found, floor.found),
            ("cause", total.cause, floor.cause),
            ("variable", total.variable, floor.variable),
            ("declaration", total.declaration, floor.declaration),
            ("access", total.access, floor.access),
        ];
        let too_low = shares.into_iter().filter(|(_, share, least)| share.percent() < *least);
        let mut problems: Vec<Problem> = too_low
            .map(|(what, share, least)| format!("{what}: {:.1} % is less than {least} %", share.percent()))
            .collect();
        let numbers = [
            ("findings without a label", total.false_positives, floor.false_positives),
            ("unexplained findings", self.unexplained, floor.unexplained),
            ("clean kernels with findings", self.clean_kernels.of - self.clean_kernels.right, floor.clean_kernels),
        ];
        let too_high = numbers.into_iter().filter(|(_, number, most)| number > most);
        problems.extend(too_high.map(|(what, number, most)| format!("{what}: {number} are more than {most}")));
        harness::all(problems)
            .map_err(|problem| format!("{problem}\nhint: `cargo test --test scores -- --misses` lists what is missed"))
    }
}

/// Everything that is not right, one line for all architectures where the same holds.
fn misses(comparisons: &[Comparison]) -> String {
    let mut lines: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for comparison in comparisons {
        let wrong = comparison.verdicts.iter().filter_map(Verdict::miss);
        let extra = comparison.false_positives.iter().map(|finding| format!("{finding}: no label says so"));
        let clean = comparison.clean_with_findings.iter().map(|name| format!("`{name}` is clean and has findings"));
        for line in wrong.chain(extra).chain(clean) {
            lines.entry(line).or_default().push(&comparison.architecture);
        }
    }
    lines.into_iter().map(|(line, architectures)| format!("{line} ({})\n", architectures.join(" "))).collect()
}
