//! Parser for the text of a directive.

use lmem_base::budget::{self, BudgetError, Limit, Quantity};
use lmem_base::words::nearest;

/// Name for all lints, as on the command line.
pub const ALL_LINTS: &str = "warnings";

/// The action of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Hides findings of the lints in its scope.
    Allow,
    /// As `Allow`, and reported if there is nothing to hide.
    Expect,
    /// As `Allow`, for the whole file or kernel string.
    AllowFile,
    /// Limits the resources of a kernel.
    Budget,
}

impl Word {
    const ALL: [Self; 4] = [Self::Allow, Self::Expect, Self::AllowFile, Self::Budget];

    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Expect => "expect",
            Self::AllowFile => "allow-file",
            Self::Budget => "budget",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let name = name.replace('_', "-");
        Self::ALL.into_iter().find(|word| word.name() == name)
    }
}

/// What is wrong with a directive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DirectiveProblem {
    #[error("`{name}` is no directive{}; known are {known}", hint(.near.as_deref()), known = known_words())]
    UnknownWord { name: String, near: Option<String> },
    #[error("there is no lint `{name}`{}", hint(.near.as_deref()))]
    UnknownLint { name: String, near: Option<String> },
    #[error("a directive looks like `lmem: allow(dynamic_index)`: {0}")]
    Form(&'static str),
    #[error("no code follows that it could hold for")]
    NoCode,
    #[error("a blank line follows: write it directly above the code that it holds for")]
    BlankLine,
    #[error("it stands before a namespace or a linkage block: write it above one kernel, or use `allow-file`")]
    ManyItems,
    #[error("too many directives stand before this one in the file: `allow-file` holds for all of it")]
    TooMany,
    #[error("it stands inside a condition: write `allow-file` where no `#if` can take it away")]
    Conditional,
    #[error("{0}")]
    Budget(#[from] BudgetError),
    #[error("a budget looks like `lmem: budget(stack = 0, registers <= 64)`: {0}")]
    BudgetForm(&'static str),
}

fn hint(near: Option<&str>) -> String {
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

fn known_words() -> String {
    Word::ALL.map(|word| format!("`{}`", word.name())).join(", ")
}

/// The parsed text of a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub word: Word,
    pub lints: Vec<String>,
    pub reason: Option<String>,
    /// The limits, for a budget.
    pub limits: Vec<Limit>,
}

/// The text behind `lmem:`, if a comment begins with it.
pub fn directive_text(comment: &str) -> Option<&str> {
    let text = match comment.strip_prefix("/*") {
        Some(text) => text.strip_suffix("*/").unwrap_or(text),
        None => comment.trim_start_matches('/'),
    };
    // Doc comments `/** … */` and `/*! … */`, and the stars at the start of a block's lines.
    let text = text.trim_start_matches(|letter: char| letter.is_whitespace() || matches!(letter, '*' | '!'));
    let text = text.trim_end_matches(|letter: char| letter.is_whitespace() || letter == '*');
    let (name, rest) = text.split_at_checked("lmem".len())?;
    if !name.eq_ignore_ascii_case("lmem") {
        return None;
    }
    if let Some(words) = rest.trim_start().strip_prefix(':') {
        return Some(words.trim());
    }
    // The colon may be missing. A comment that merely mentions lmem is no directive.
    let rest = rest.trim();
    let word = rest.split('(').next().filter(|word| word.len() < rest.len())?;
    Word::parse(word.trim()).map(|_| rest)
}

pub fn parse(words: &str, known_lints: &[&str]) -> Result<Parsed, DirectiveProblem> {
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let word_end = words.find(|letter| !is_name(letter)).unwrap_or(words.len());
    let (name, rest) = words.split_at(word_end);
    let word = Word::parse(name).ok_or_else(|| match name {
        "" => DirectiveProblem::Form("`allow`, `expect`, `allow-file` or `budget` is missing"),
        name => {
            let near = nearest(name, Word::ALL.iter().map(|word| word.name())).map(str::to_string);
            DirectiveProblem::UnknownWord { name: name.to_string(), near }
        }
    })?;
    if word == Word::Budget {
        return parse_budget(rest.trim());
    }
    let rest = rest.trim().strip_prefix('(').ok_or(DirectiveProblem::Form("the opening parenthesis is missing"))?;
    let mut rest = rest.trim_start();
    let mut lints = Vec::new();
    let mut reason = None;
    loop {
        if let Some(end) = rest.strip_prefix(')') {
            if !end.trim().is_empty() {
                return Err(DirectiveProblem::Form(
                    "there is text behind the closing parenthesis; put it into `reason = \"…\"`",
                ));
            }
            break;
        }
        let (name, after) = rest.split_at(rest.find(|letter| !is_name(letter)).unwrap_or(rest.len()));
        rest = match (name, after.trim_start()) {
            ("reason", after) if after.starts_with('=') => {
                let (text, after) = quoted(&after[1..])?;
                reason = Some(text);
                after
            }
            ("", "") => return Err(DirectiveProblem::Form("the closing parenthesis is missing")),
            ("", _) => {
                let form = "between the parentheses stand names of lints, and `reason = \"…\"` after them";
                return Err(DirectiveProblem::Form(form));
            }
            (name, after) => {
                lints.push(known_lint(name, known_lints)?);
                after
            }
        };
        rest = match rest.trim_start() {
            "" => return Err(DirectiveProblem::Form("the closing parenthesis is missing")),
            rest if rest.starts_with(')') => rest,
            rest => rest.strip_prefix(',').ok_or(DirectiveProblem::Form("a comma is missing"))?.trim_start(),
        };
    }
    match lints.is_empty() {
        true => Err(DirectiveProblem::Form("it names no lint")),
        false => Ok(Parsed { word, lints, reason, limits: Vec::new() }),
    }
}

/// Parses the text behind `budget`.
fn parse_budget(text: &str) -> Result<Parsed, DirectiveProblem> {
    let form = DirectiveProblem::BudgetForm;
    let mut rest = text.strip_prefix('(').ok_or(form("the opening parenthesis is missing"))?.trim_start();
    let (mut limits, mut reason) = (Vec::new(), None);
    loop {
        if let Some(end) = rest.strip_prefix(')') {
            match end.trim().is_empty() {
                true => break,
                false => {
                    return Err(form("there is text behind the closing parenthesis; put it into `reason = \"…\"`"));
                }
            }
        }
        let name_end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        rest = match (name, after.trim_start()) {
            ("", "") => return Err(form("the closing parenthesis is missing")),
            ("", _) => return Err(form("between the parentheses stand limits, such as `stack = 0, registers <= 64`")),
            ("reason", after) if after.starts_with('=') => {
                let (text, after) = quoted(&after[1..])?;
                reason = Some(text);
                after
            }
            (name, after) => {
                let quantity = Quantity::parse(name)?;
                let (limit, after) = after.split_at(after.find([',', ')']).unwrap_or(after.len()));
                budget::add(&mut limits, Limit::parse(quantity, limit)?)?;
                after
            }
        };
        rest = match rest.trim_start() {
            "" => return Err(form("the closing parenthesis is missing")),
            rest if rest.starts_with(')') => rest,
            rest => rest.strip_prefix(',').ok_or(form("a comma is missing"))?.trim_start(),
        };
    }
    match limits.is_empty() {
        true => Err(form("it limits nothing")),
        false => Ok(Parsed { word: Word::Budget, lints: Vec::new(), reason, limits }),
    }
}

fn known_lint(name: &str, known: &[&str]) -> Result<String, DirectiveProblem> {
    let written = name.replace('-', "_");
    if written == ALL_LINTS || known.contains(&written.as_str()) {
        return Ok(written);
    }
    let near = nearest(name, known.iter().copied()).map(str::to_string);
    Err(DirectiveProblem::UnknownLint { name: name.to_string(), near })
}

/// Text in double quotes, and the rest. Text from a Rust string has plain quotes too, because it was decoded before.
fn quoted(text: &str) -> Result<(String, &str), DirectiveProblem> {
    let form = DirectiveProblem::Form("a reason is text in double quotes");
    let Some(rest) = text.trim_start().strip_prefix('"') else { return Err(form) };
    rest.split_once('"').map(|(reason, rest)| (reason.to_string(), rest)).ok_or(form)
}
