//! Directives: comments in CUDA code that control this tool.
//!
//! ```cpp
//! // lmem: allow(dynamic_index, reason = "cold path")
//! // lmem: expect(register_spill)      as `allow`, and reported when there is nothing to allow
//! // lmem: allow-file(dynamic_index)   the whole file, or kernel string
//! // lmem: budget(stack = 0, registers <= 64)   what the kernel below may take
//! ```
//! `/* lmem: … */` works too. Behind code, a directive applies to its line. Above code, it applies to the next item: a
//! function, kernel or structure up to its closing brace, a macro up to its last line, a statement up to its semicolon,
//! a loop's header. Outside brackets, a blank line ends the scope at the latest. In a macro, or above its `#define`, a
//! directive applies to the uses of the macro too, since the compiler places the code there. In Rust code, it applies
//! to the kernel strings in the next item, or on its line.

mod code;
mod kernels;
pub mod parse;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lmem_base::budget::Limit;
use lmem_base::source::{SourceFile, Span};
use lmem_unit::MappedText;

use code::{Code, NoScope};
use parse::{ALL_LINTS, Parsed, directive_text, parse};
use rust::RustText;

pub use kernels::{DeclaredKernel, declared_kernels, defined_kernels, kernel_definitions};
pub use parse::{DirectiveProblem, Word};
pub use rust::{RustString, string_around};

/// Limit on the directives of one text. Each is held against every finding.
const MAX_DIRECTIVES: usize = 10_000;

/// One valid directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    pub word: Word,
    /// The comment.
    pub span: Span,
    /// The code that the directive applies to.
    pub scope: Span,
    /// The macro whose uses the directive applies to as well.
    pub in_macro: Option<String>,
    pub lints: Vec<String>,
    pub reason: Option<String>,
    /// The limits, for a budget.
    pub limits: Vec<Limit>,
    /// The kernels of a budget in CUDA code.
    pub kernels: BudgetedKernels,
}

/// The kernels that a budget applies to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BudgetedKernels {
    /// The directive is no budget, or is in Rust code.
    #[default]
    Unknown,
    Declared(Vec<DeclaredKernel>),
    /// The words of a macro call: one of them may be the name.
    Words(Vec<String>),
}

/// A kernel, as described to find its budget.
#[derive(Clone, Copy)]
pub struct BudgetQuery<'a> {
    /// Without namespaces and template arguments.
    pub name: &'a str,
    pub mangled: &'a str,
    /// The name in the source, if known.
    pub span: Option<&'a Span>,
    /// Where Rust code contains the kernel's text and passes it to a compiler.
    pub in_rust: &'a [Span],
    /// Whether a file is part of the kernel's translation unit.
    pub is_part: &'a dyn Fn(&SourceFile) -> bool,
}

/// A malformed directive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct DirectiveError {
    pub span: Span,
    pub problem: DirectiveProblem,
}

/// All directives of a run, and which lints they silenced.
#[derive(Debug, Clone, Default)]
pub struct Directives {
    list: Vec<Directive>,
    /// Number of findings silenced, by directive and lint.
    used: BTreeMap<(usize, String), usize>,
    errors: Vec<DirectiveError>,
    seen: BTreeSet<Span>,
    /// Words in the replacement lists of macros, by macro name.
    macros: BTreeMap<String, BTreeSet<String>>,
}

impl Directives {
    /// Reads the directives of a file or kernel string. Directives that are known already are skipped, so a header may
    /// be read again for every file that includes it.
    pub fn read(&mut self, text: &MappedText, known_lints: &[&str]) {
        let code = Code::of(text.as_str());
        for (name, body) in code.macros() {
            self.macros.entry(name.to_string()).or_default().extend(code::words(body).map(str::to_string));
        }
        let directives = code.comments.iter().filter_map(|comment| {
            let words = directive_text(&text.as_str()[comment.clone()])?;
            Some((comment, words))
        });
        for (number, (comment, words)) in directives.enumerate() {
            let Some(span) = text.span(comment.clone()).filter(|span| self.seen.insert(span.clone())) else { continue };
            if number >= MAX_DIRECTIVES {
                return self.errors.push(DirectiveError { span, problem: DirectiveProblem::TooMany });
            }
            match parse(words, known_lints).and_then(|parsed| directive(parsed, &span, comment, &code, text)) {
                Ok(directive) => self.list.push(directive),
                Err(problem) => self.errors.push(DirectiveError { span, problem }),
            }
        }
    }

    /// Reads the directives of Rust code next to kernel strings.
    pub fn read_rust(&mut self, file: &Arc<SourceFile>, known_lints: &[&str]) {
        let rust = RustText::of(file.text());
        let directives = rust.comments.iter().filter_map(|comment| {
            let span = Span::new(file, comment.clone());
            let words = directive_text(&file.text()[comment.clone()])?;
            Some((comment, span, words))
        });
        for (number, (comment, span, words)) in directives.enumerate() {
            if !self.seen.insert(span.clone()) {
                continue;
            }
            if number >= MAX_DIRECTIVES {
                return self.errors.push(DirectiveError { span, problem: DirectiveProblem::TooMany });
            }
            let scope_of = |word| match word {
                Word::AllowFile => Ok(0..file.text().len()),
                _ => rust.scope_of(comment).map_err(problem_of),
            };
            match parse(words, known_lints).and_then(|parsed| scope_of(parsed.word).map(|scope| (parsed, scope))) {
                Ok((parsed, scope)) => self.list.push(Directive {
                    word: parsed.word,
                    scope: Span::new(file, scope),
                    in_macro: None,
                    lints: parsed.lints,
                    reason: parsed.reason,
                    limits: parsed.limits,
                    kernels: BudgetedKernels::Unknown,
                    span,
                }),
                Err(problem) => self.errors.push(DirectiveError { span, problem }),
            }
        }
    }

    /// The budgets that apply to a kernel, the one with the smallest scope last.
    pub fn budgets_of(&self, kernel: &BudgetQuery<'_>) -> Vec<usize> {
        let holds = |directive: &Directive| directive.word == Word::Budget && self.is_budget_of(directive, kernel);
        let mut found: Vec<usize> = (0..self.list.len()).filter(|index| holds(&self.list[*index])).collect();
        found.sort_by_key(|index| std::cmp::Reverse(self.list[*index].scope.range().len()));
        found
    }

    fn is_budget_of(&self, directive: &Directive, kernel: &BudgetQuery<'_>) -> bool {
        let scope = &directive.scope;
        let is_in = |place: &Span| scope.file.path == place.file.path && scope.range().contains(&place.start);
        let is_name = |name: &str| name == kernel.name || name == kernel.mangled;
        match (&directive.kernels, kernel.span) {
            (BudgetedKernels::Unknown, _) => kernel.in_rust.iter().any(is_in),
            (_, Some(span)) => is_in(span) || self.is_in_use(directive, span, None),
            (BudgetedKernels::Declared(kernels), None) => {
                (kernel.is_part)(&scope.file) && kernels.iter().any(|kernel| is_name(&kernel.name))
            }
            (BudgetedKernels::Words(words), None) => {
                (kernel.is_part)(&scope.file) && words.iter().any(|word| is_name(word))
            }
        }
    }

    /// The directive with an index.
    pub fn get(&self, index: usize) -> Option<&Directive> {
        self.list.get(index)
    }

    /// Budgets that apply to none of the kernels in the run, by position.
    pub fn unused_budgets(&self, used: &BTreeSet<usize>) -> Vec<&Directive> {
        let all = self.list.iter().enumerate();
        let unused = all.filter(|(index, directive)| directive.word == Word::Budget && !used.contains(index));
        let mut unused: Vec<&Directive> = unused.map(|(_, directive)| directive).collect();
        unused.sort_by(|left, right| left.span.cmp(&right.span));
        unused
    }

    /// The directive that silences a lint at a location: of several, the one with the smallest scope. In a use of a
    /// macro, all code has one location, so the directive's scope must contain the variable.
    pub fn covers(&self, place: &Span, lint: &str, variable: Option<&str>) -> Option<usize> {
        let holds = |directive: &Directive| {
            let scope = &directive.scope;
            let is_there = scope.file.path == place.file.path && scope.range().contains(&place.start);
            let is_named = directive.lints.iter().any(|name| name == lint || name == ALL_LINTS);
            is_named && (is_there || self.is_in_use(directive, place, variable))
        };
        let holding = self.list.iter().enumerate().filter(|(_, directive)| holds(directive));
        holding.rev().min_by_key(|(_, directive)| directive.scope.range().len()).map(|(index, _)| index)
    }

    fn is_in_use(&self, directive: &Directive, place: &Span, variable: Option<&str>) -> bool {
        let Some(name) = &directive.in_macro else { return false };
        let is_in_scope = match variable {
            Some(variable) => code::words(directive.scope.text().as_bytes()).any(|word| word == variable),
            // Spills have no variable: they belong to a kernel, which has a body.
            None => directive.scope.text().contains('{'),
        };
        is_in_scope && self.uses(place.text(), name)
    }

    /// Whether code contains the name of a macro, or of a macro that uses it.
    fn uses(&self, code: &str, name: &str) -> bool {
        let mut open: Vec<&str> = code::words(code.as_bytes()).collect();
        let mut seen = BTreeSet::new();
        while let Some(word) = open.pop() {
            if word == name {
                return true;
            }
            if let Some(words) = self.macros.get(word).filter(|_| seen.insert(word)) {
                open.extend(words.iter().map(String::as_str));
            }
        }
        false
    }

    /// Counts a finding that a directive silenced.
    pub fn mark_used(&mut self, index: usize, lint: &str) {
        *self.used.entry((index, lint.to_string())).or_default() += 1;
    }

    /// All directives that can silence lints, with the number of findings that each silenced, by position.
    pub fn all(&self) -> Vec<(&Directive, usize)> {
        let silenced =
            |index: usize| self.used.iter().filter(|((used, _), _)| *used == index).map(|(_, count)| count).sum();
        let all = self.list.iter().enumerate().filter(|(_, directive)| directive.word != Word::Budget);
        let mut all: Vec<_> = all.map(|(index, directive)| (directive, silenced(index))).collect();
        all.sort_by(|(left, _), (right, _)| left.span.cmp(&right.span));
        all
    }

    /// Directives with lints that they never silenced, by position.
    pub fn unused(&self) -> Vec<(&Directive, Vec<&str>)> {
        let is_used = |index: usize, lint: &str| match lint {
            ALL_LINTS => self.used.keys().any(|(used, _)| *used == index),
            _ => self.used.contains_key(&(index, lint.to_string())),
        };
        let unused = self.list.iter().enumerate().map(|(index, directive)| {
            let names = directive.lints.iter().map(String::as_str).filter(|lint| !is_used(index, lint));
            (directive, names.collect::<Vec<_>>())
        });
        let mut unused: Vec<_> = unused.filter(|(_, names)| !names.is_empty()).collect();
        unused.sort_by(|(left, _), (right, _)| left.span.cmp(&right.span));
        unused
    }

    /// Malformed directives, in the order in which they were read.
    pub fn errors(&self) -> &[DirectiveError] {
        &self.errors
    }
}

fn directive(
    parsed: Parsed,
    span: &Span,
    comment: &std::ops::Range<usize>,
    code: &Code<'_>,
    text: &MappedText,
) -> Result<Directive, DirectiveProblem> {
    let Parsed { word, lints, reason, limits } = parsed;
    let (range, in_macro) = match word {
        Word::AllowFile if code.is_conditional(comment.start) => return Err(DirectiveProblem::Conditional),
        Word::AllowFile => (0..text.as_str().len(), None),
        Word::Allow | Word::Expect | Word::Budget => {
            let scope = code.scope_of(comment).map_err(problem_of)?;
            (scope.range, scope.in_macro)
        }
    };
    let kernels = match word {
        Word::Budget => match kernels::in_range(code, range.clone(), text) {
            declared if declared.is_empty() => BudgetedKernels::Words(kernels::words_of_call(code, range.clone())),
            declared => BudgetedKernels::Declared(declared),
        },
        _ => BudgetedKernels::Unknown,
    };
    let scope = text.span(range).ok_or(DirectiveProblem::NoCode)?;
    Ok(Directive { word, span: span.clone(), scope, in_macro, lints, reason, limits, kernels })
}

fn problem_of(error: NoScope) -> DirectiveProblem {
    match error {
        NoScope::NoCode => DirectiveProblem::NoCode,
        NoScope::BlankLine => DirectiveProblem::BlankLine,
        NoScope::ManyItems => DirectiveProblem::ManyItems,
        NoScope::TooMany => DirectiveProblem::TooMany,
    }
}

#[cfg(test)]
mod tests;
