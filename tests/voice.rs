//! How findings speak, over all expected reports of the test crates. `CONTRIBUTING.md` has the rules in words.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// Lines of half of the diagnostics at most, and of the longest one. Half of them show an edit with its proof.
const MEDIAN: usize = 13;
const LONGEST: usize = 40;
/// Columns of our own text.
const COLUMNS: usize = 100;

/// Words that have a better one in the field, or say nothing.
const FORBIDDEN: &[&str] = &[
    "lives in local memory",
    "in every thread",
    "at run time",
    "known at compile time",
    "iteration to iteration",
    "behind a pointer",
    "handed to",
    "spill slots",
    "refill",
    "alive",
    "circle",
    "proven",
    "of no use",
    "is not to be",
    "to be judged",
    "in place of",
    "spills 0 B",
    " bytes",
    "flags: assumed",
    "cargo lmem explain",
];

struct Shown {
    file: String,
    text: String,
}

impl Shown {
    fn is_ours(&self) -> bool {
        let code = self.text.split(['[', ']']).nth(1).unwrap_or_default();
        !["nvcc", "nvrtc", "ptxas", "gcc"].iter().any(|compiler| code.starts_with(compiler))
    }

    fn headline(&self) -> String {
        let lines = self.text.lines().take_while(|line| !line.contains("┌─") && !line.starts_with("help"));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// Lines that show nothing of the source, with their number.
    fn own_lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| !line.contains('│') && !line.contains("┌─"))
    }
}

fn expected(ending: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates/expected");
    let mut files: Vec<_> = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|known| known == ending));
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs_err::read_to_string(path).unwrap())).collect()
}

fn diagnostics() -> Vec<Shown> {
    let mut all = Vec::new();
    for (file, text) in expected("txt") {
        let parts = text.split("\n\n").map(str::trim_end).filter(|text| !text.is_empty());
        all.extend(parts.map(|text| Shown { file: file.clone(), text: text.to_string() }));
    }
    assert!(all.len() > 150, "the reports are read wrongly");
    all
}

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn diagnostics_are_short() {
    let mut lengths: Vec<usize> = diagnostics().iter().map(|shown| shown.text.lines().count()).collect();
    lengths.sort_unstable();
    let (median, longest) = (lengths[lengths.len() / 2], lengths.last().copied().unwrap_or(0));
    assert!(median <= MEDIAN && longest <= LONGEST, "median {median} of {MEDIAN}, longest {longest} of {LONGEST}");
}

#[test]
fn our_own_lines_end_in_time() {
    let all = diagnostics();
    let mut long = Vec::new();
    for shown in all.iter().filter(|shown| shown.is_ours()) {
        let lines = shown.own_lines().filter(|line| line.chars().count() > COLUMNS);
        long.extend(lines.map(|line| format!("{}: {line}", shown.file)));
    }
    none(long);
}

#[test]
fn words_have_better_ones() {
    let mut found = Vec::new();
    for shown in diagnostics().iter().filter(|shown| shown.is_ours()) {
        for line in shown.own_lines().chain(labels(shown)) {
            found.extend(
                FORBIDDEN
                    .iter()
                    .filter(|word| line.contains(*word))
                    .map(|word| format!("{}: `{word}`: {line}", shown.file)),
            );
        }
    }
    none(found);
}

/// Labels, without what they point at: they stand in lines without a number.
fn labels(shown: &Shown) -> impl Iterator<Item = &str> {
    shown.text.lines().filter(|line| line.trim_start().starts_with('│') && !line.contains("│ +"))
}

#[test]
fn no_sentence_has_two_colons() {
    let colons = |text: &str| {
        let parts = text.split('`').enumerate().filter(|(index, _)| index % 2 == 0);
        parts.map(|(_, prose)| prose.matches(": ").count()).sum::<usize>()
    };
    let shown = diagnostics();
    let lines = shown.iter().filter(|shown| shown.is_ours()).map(|shown| (shown, shown.headline()));
    // The first one stands behind the lint's name.
    none(lines.filter(|(_, line)| colons(line) > 2).map(|(shown, line)| format!("{}: {line}", shown.file)).collect());
}

#[test]
fn an_edit_is_shown_once() {
    let mut edits: BTreeMap<(String, String), usize> = BTreeMap::new();
    for shown in diagnostics() {
        let changed = shown.text.lines().filter(|line| line.contains("│ - ") || line.contains("│ + "));
        let edit: Vec<&str> = changed.collect();
        // One line may be alike in two kernels; several with their numbers are not.
        if edit.len() > 3 {
            *edits.entry((shown.file.clone(), edit.join("\n"))).or_default() += 1;
        }
    }
    none(
        edits.into_iter().filter(|(_, count)| *count > 1).map(|((file, edit), _)| format!("{file}:\n{edit}")).collect(),
    );
}

/// Figures of ptxas stand beside an architecture, in a sentence or in a row of a table.
#[test]
fn figures_have_their_architecture() {
    let mut bare = Vec::new();
    for shown in diagnostics() {
        for line in
            shown.own_lines().filter(|line| line.contains("stack frame ") && line.trim_start().starts_with("= "))
        {
            let is_figure =
                line.split("stack frame ").nth(1).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if is_figure && !line.contains("sm_") && !line.contains("with the pragma") {
                bare.push(format!("{}: {line}", shown.file));
            }
        }
    }
    none(bare);
}

fn number_before<'t>(text: &'t str, unit: &str) -> Option<(&'t str, u64)> {
    let before = &text[..text.find(unit)?];
    let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    Some((before, before[start..].parse().ok()?))
}

/// The size of a headline is the one of its label, which has padding apart.
#[test]
fn headlines_and_labels_agree() {
    let mut differing = Vec::new();
    let mut checked = 0;
    for shown in diagnostics() {
        let headline = shown.headline();
        let is_one = headline.matches(" B)").count() == 1 && headline.contains(" is in local memory");
        let Some((_, size)) = number_before(&headline, " B)").filter(|_| is_one) else { continue };
        let label = labels(&shown).find(|line| line.contains(" per thread") || line.contains(" B padding"));
        let Some(label) = label.filter(|label| !label.contains("(all of") && !label.contains(" B of ")) else {
            continue;
        };
        let Some((_, own)) = number_before(label, " B") else { continue };
        checked += 1;
        if own != size {
            differing.push(format!("{}: {headline}\n{label}", shown.file));
        }
    }
    none(differing);
    assert!(checked > 50, "only {checked} of the labels are read");
}

/// JSON has the figures that people read: those of the worst kernel, and of each kernel the ones of `ptxas`.
#[test]
fn json_has_the_same_figures() {
    let mut differing = Vec::new();
    let mut checked = 0;
    for (file, text) in expected("json") {
        for line in text.lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            let (lmem, rendered) = (&message["lmem"], message["message"]["rendered"].as_str().unwrap_or_default());
            let label =
                message["message"]["spans"].as_array().into_iter().flatten().find(|span| span["is_primary"] == true);
            let label = label.and_then(|span| span["label"].as_str()).unwrap_or_default();
            let Some(kernels) = lmem["kernels"].as_array().filter(|_| label.contains(" per thread;")) else { continue };
            checked += 1;
            for (key, word) in [("loads", " local load"), ("stores", " store"), ("stores", " local store")] {
                let said = number_before(label, word).map(|(_, number)| number);
                if said.is_some_and(|said| lmem[key].as_u64() != Some(said)) {
                    differing.push(format!("{file}: {key} {} and `{label}`", lmem[key]));
                }
            }
            let sum = |kernel: &Value| (kernel["bytes"].as_u64(), kernel["loads"].as_u64(), kernel["stores"].as_u64());
            if !kernels.iter().any(|kernel| sum(kernel) == sum(lmem)) {
                differing.push(format!("{file}: no kernel has the figures of the finding: {label}"));
            }
            for kernel in kernels {
                let frame = format!("{}", kernel["usage"]["stack_frame"]);
                let is_said = rendered.contains(&format!("stack frame {frame} "))
                    || rendered.contains(&format!("{frame} B"))
                    || rendered.contains(&format!("{frame} → "));
                if !is_said {
                    differing.push(format!("{file}: {} B of {} are not in the text", frame, kernel["name"]));
                }
            }
        }
    }
    none(differing);
    assert!(checked > 5, "only {checked} findings are read");
}
