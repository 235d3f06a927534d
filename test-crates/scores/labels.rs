//! The labels in the sources of `labelled/`.
//!
//! | label | on the line of | says |
//! |---|---|---|
//! | `//@ object NAME: LINT` | the declaration | the variable is in local memory, for the reason that the lint speaks of |
//! | `//@ access NAME` | a guilty access | this is one of those that a finding may point at |
//! | `//@ declaration NAME` | another place of the declaration | of a variable that a macro declares: inside of the macro |
//! | `//@ spills` | the name of the kernel | the kernel spills |
//! | `//@ clean` | the name of the kernel | nothing of it is in local memory |
//!
//! Alternatives have `|` between them: names under which a user would look for the variable, and, where two causes are
//! equally fair, lints. `-` is the name of what is no variable. A label belongs to the kernel around it; ` in KERNEL`
//! says others, with commas, and with `|` where a finding may name a function that the kernel calls. Architectures at the
//! end say where it holds; without them it holds wherever the kernel uses local memory. In macros, `/*@ … */`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::harness::crates::TestCrate;
use crate::harness::run::ARCHITECTURES;
use crate::harness::{Problem, all};
use crate::truth::{Truth, is_named};

/// A file, relative to the crate, and a line of it.
pub type Place = (String, usize);

/// The name of what is no variable.
const NO_VARIABLE: &str = "-";

/// Something that is in local memory.
#[derive(Debug, Clone)]
pub struct Label {
    /// The kernel, or functions in its place.
    pub kernels: Vec<String>,
    /// What it may be called.
    pub names: Vec<String>,
    /// Causes that are right, the best first.
    pub lints: Vec<String>,
    architectures: Vec<String>,
    pub place: Place,
    pub declarations: BTreeSet<Place>,
    pub accesses: BTreeSet<Place>,
}

impl Label {
    pub fn is_variable(&self) -> bool {
        self.names.iter().all(|name| name != NO_VARIABLE)
    }

    pub fn is_spills(&self) -> bool {
        self.lints == ["register_spill"]
    }

    /// Whether it speaks of a kernel or function of this name.
    pub fn is_of(&self, name: &str) -> bool {
        self.kernels.iter().any(|kernel| is_named(name, kernel))
    }

    pub fn holds(&self, truth: &Truth, architecture: &str) -> bool {
        match self.architectures.as_slice() {
            [] => self.kernels.iter().any(|kernel| truth.has_local_memory(kernel, architecture)),
            named => named.iter().any(|name| name == architecture),
        }
    }
}

#[derive(Default)]
pub struct Labels {
    pub labels: Vec<Label>,
    /// Kernels that use no local memory.
    pub clean: BTreeSet<String>,
}

/// What follows `//@ access NAME` and its like.
struct Mark<'a> {
    kind: &'a str,
    names: Vec<String>,
    lints: Vec<String>,
    /// Alternatives for each kernel.
    kernels: Vec<Vec<String>>,
    architectures: Vec<String>,
}

impl Labels {
    pub fn read(test_crate: &TestCrate) -> Result<Self, Problem> {
        let mut labels = Self::default();
        let mut others: Vec<(Mark, Place)> = Vec::new();
        let mut problems = Vec::new();
        let sources = test_crate.sources();
        let texts: Vec<(String, String)> = sources
            .iter()
            .map(|path| {
                let text = fs_err::read_to_string(test_crate.folder.join(path)).unwrap_or_default();
                (path.to_string_lossy().into_owned(), text)
            })
            .collect();
        for (file, text) in &texts {
            let kernels = kernels_of(text);
            for (index, line) in text.lines().enumerate() {
                let place = (file.clone(), index + 1);
                for mark in marks_of(line) {
                    match Mark::parse(mark, place.1, &kernels) {
                        Some(mark) if mark.kind == "access" || mark.kind == "declaration" => {
                            others.push((mark, place.clone()))
                        }
                        Some(mark) => labels.add(mark, &place),
                        None => problems.push(format!("{file}:{}: broken label `//@{mark}`", index + 1)),
                    }
                }
            }
        }
        problems.extend(others.into_iter().filter_map(|(mark, place)| labels.extend(&mark, &place)));
        all(problems).map(|()| labels)
    }

    fn add(&mut self, mark: Mark<'_>, place: &Place) {
        for kernels in mark.kernels {
            match mark.kind {
                "clean" => self.clean.extend(kernels),
                _ => self.labels.push(Label {
                    kernels,
                    names: mark.names.clone(),
                    lints: mark.lints.clone(),
                    architectures: mark.architectures.clone(),
                    place: place.clone(),
                    declarations: BTreeSet::from([place.clone()]),
                    accesses: BTreeSet::new(),
                }),
            }
        }
    }

    /// Adds a line to the labels that a mark speaks of; they have its name as their first.
    fn extend(&mut self, mark: &Mark<'_>, place: &Place) -> Option<Problem> {
        let is_meant = |label: &Label| {
            label.names.first() == mark.names.first()
                && mark.kernels.iter().any(|kernels| kernels.first() == label.kernels.first())
        };
        let mut meant = self.labels.iter_mut().filter(|label| is_meant(label)).peekable();
        if meant.peek().is_none() {
            let name = mark.names.join("|");
            return Some(format!("{}:{}: no object has the label `{name}` in that kernel", place.0, place.1));
        }
        for label in meant {
            let places = if mark.kind == "access" { &mut label.accesses } else { &mut label.declarations };
            places.insert(place.clone());
        }
        None
    }

    /// Whether the labels agree with what ptxas says: every kernel has one, and they speak of what is there.
    pub fn check(&self, truth: &Truth) -> Result<(), Problem> {
        let mut problems = Vec::new();
        for kernel in truth.kernels() {
            let used = ARCHITECTURES.iter().filter(|architecture| truth.has_local_memory(kernel, architecture));
            let is_clean = self.clean.iter().any(|name| is_named(kernel, name));
            for architecture in used {
                let mut labels = self.labels.iter().filter(|label| label.is_of(kernel));
                if is_clean || !labels.any(|label| label.holds(truth, architecture)) {
                    problems.push(format!("`{kernel}` uses local memory on {architecture}, and no label says so"));
                }
            }
            if !is_clean && !self.labels.iter().any(|label| label.is_of(kernel)) {
                problems.push(format!("`{kernel}` has no label"));
            }
        }
        for label in &self.labels {
            if !ARCHITECTURES.iter().any(|architecture| label.holds(truth, architecture)) {
                let (file, line) = &label.place;
                problems.push(format!("{file}:{line}: `{}` is nowhere in local memory", label.kernels.join("|")));
            }
        }
        all(problems)
    }
}

/// The labels in a line, without what ends them: the string or the comment around them.
fn marks_of(line: &str) -> Vec<&str> {
    let mut marks: Vec<&str> = line.split("//@").skip(1).collect();
    marks.extend(line.split("/*@").skip(1).filter_map(|rest| rest.split("*/").next()));
    marks.into_iter().map(|mark| mark.split(['"', '\\']).next().unwrap_or(mark).trim()).collect()
}

impl<'a> Mark<'a> {
    fn parse(text: &'a str, line: usize, around: &BTreeMap<String, RangeInclusive<usize>>) -> Option<Self> {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let is_architecture = |word: &&&str| ARCHITECTURES.contains(*word);
        let named = words.iter().rev().take_while(is_architecture).count();
        let (words, architectures) = words.split_at(words.len() - named);
        let at = words.iter().position(|word| *word == "in").unwrap_or(words.len());
        let (what, kernels) = (words[..at].join(" "), words.get(at + 1..).unwrap_or(&[]).join(" "));
        let alternatives = |text: &str| text.split('|').map(|part| part.trim().to_string()).collect::<Vec<_>>();
        let kernels: Vec<Vec<String>> = match kernels.is_empty() {
            false => kernels.split(',').map(alternatives).collect(),
            true => {
                let (name, _) = around.iter().find(|(_, lines)| lines.contains(&line))?;
                vec![vec![name.clone()]]
            }
        };
        let (names, lints) = match kind {
            "object" => {
                let (names, lints) = what.split_once(':')?;
                (alternatives(names), alternatives(lints))
            }
            "access" | "declaration" if !what.is_empty() => (alternatives(&what), Vec::new()),
            "spills" if what.is_empty() => (vec![NO_VARIABLE.to_string()], vec!["register_spill".to_string()]),
            "clean" if what.is_empty() => (Vec::new(), Vec::new()),
            _ => return None,
        };
        let architectures = architectures.iter().map(ToString::to_string).collect();
        Some(Self { kind, names, lints, kernels, architectures })
    }
}

/// The kernels that a text defines, by name, with their lines.
fn kernels_of(text: &str) -> BTreeMap<String, RangeInclusive<usize>> {
    let line_of = |offset: usize| text[..offset].matches('\n').count() + 1;
    let kernel = |(start, word): (usize, &str)| {
        let rest = &text[start + word.len()..];
        // Explicit instantiations have no body.
        let body = rest.find('{')?;
        if rest.find(';').is_some_and(|end| end < body) {
            return None;
        }
        let name = name_of(&rest[..body])?;
        let end = start + word.len() + body + length_of_block(&rest[body..]);
        Some((name, line_of(start)..=line_of(end)))
    };
    text.match_indices("__global__").filter_map(kernel).collect()
}

/// The name of the function in ` void __launch_bounds__(256) name(…`.
fn name_of(head: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = head.split('(').map(|part| part.rsplit(|c| !is_part(c)).next().unwrap_or(""));
    words.into_iter().find(|word| !word.is_empty() && !word.starts_with("__")).map(str::to_string)
}

/// Up to the bracket that closes the first one.
fn length_of_block(text: &str) -> usize {
    let mut depth = 0usize;
    let end = text.char_indices().find(|(_, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(text.len(), |(offset, _)| offset)
}
