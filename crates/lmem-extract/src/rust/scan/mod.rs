//! Scans a Rust file for names and their bindings, calls, and string literals.
//!
//! The scan works on tokens, not on a syntax tree. Much of the relevant code is in macro arguments (`lazy_static!`,
//! `vec!`, `assert!`), which are only tokens. And a file that a parser rejects still gives results. Where tokens do not
//! show whether a name is bound again, its value counts as unknown: this loses an analysis, and the opposite choice
//! would give a wrong one.

pub mod calls;
mod growing;
mod index;
mod items;
mod lookup;
mod nest;
pub mod patterns;
pub(super) mod scanner;
pub mod tokens;
mod variables;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use proc_macro2::TokenStream;

use lmem_base::source::{SourceFile, Span};
use lmem_unit::MappedText;

use self::index::Index;
use super::literals;
use crate::rust::macros::places::Places;

/// The contents of one file.
#[derive(Debug)]
pub(super) struct RustFile {
    /// As written.
    file: Arc<SourceFile>,
    /// The code with macros expanded, if that differs. All offsets below refer to this code.
    expanded: Option<(Arc<SourceFile>, Places)>,
    /// Offset of the first token.
    start: usize,
    /// Bindings by name, in source order.
    bindings: BTreeMap<String, Vec<Binding>>,
    /// `use a::b::*`
    pub globs: Vec<(Range<usize>, Vec<String>)>,
    /// Every call `name(…)` and `x.name(…)`; users filter by name.
    pub calls: Vec<Call>,
    /// Every structure expression `Name { … }`.
    pub structures: Vec<Structure>,
    /// Every `name!(…)`.
    pub macros: Vec<MacroCall>,
    /// Every `macro_rules!`, in source order.
    pub definitions: Vec<MacroRules>,
    /// Ranges of string literals, except those in `#[doc = "…"]`.
    pub literals: Vec<Range<usize>>,
    /// Sorted by the start of the body.
    pub functions: Vec<Function>,
    modules: Vec<(Range<usize>, Vec<String>)>,
    owners: Vec<(Range<usize>, Owner)>,
    /// Where the first part begins that is nested beyond the limit, and not looked into.
    pub too_deep: Option<Range<usize>>,
    /// Built when all is found.
    index: Index,
}

/// A name and its value.
#[derive(Debug)]
pub(super) struct Binding {
    /// Byte range where the binding is visible.
    pub visible: Range<usize>,
    /// The enclosing modules, then the type of the `impl`, within this file.
    pub container: Vec<String>,
    /// The trait of the item, from its declaration or from an `impl`.
    pub of_trait: Option<String>,
    /// `false` for a trait's default, which implementations may override.
    pub is_final: bool,
    /// A constant of an `impl` or `trait`, which only `Self::` or the type's name can refer to.
    is_associated: bool,
    pub value: Value,
    /// Body of the function with the local variable; `None` for items, which inner functions also see.
    local_to: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Expression(TokenStream),
    /// Pieces of a string that is built statement by statement.
    Sum(Vec<TokenStream>),
    /// A part of a value: an element of the iterated value of a loop, or a member from a pattern.
    Part {
        of: TokenStream,
        is_element: bool,
        members: Vec<String>,
        why: Unknown,
    },
    /// The initial value of a variable that may change.
    Initial(TokenStream),
    /// Another name, from a `use`.
    Path(Vec<String>),
    Unknown(Unknown),
}

/// Why the value of a name is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unknown {
    Parameter { function: String, body: usize, index: Option<usize> },
    ClosureParameter,
    LoopVariable,
    Pattern,
    Late,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { function, .. } => write!(f, "its text is a parameter of `{function}`"),
            Self::ClosureParameter => f.write_str("its text is a parameter of a closure"),
            Self::LoopVariable => f.write_str("its text is the variable of a loop"),
            Self::Pattern => f.write_str("its text is taken out of a value by a pattern"),
            Self::Late => f.write_str("its text is assigned after its declaration"),
        }
    }
}

/// A call by path, or a method call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// `["cudarc", "nvrtc", "compile_ptx"]`; for a method only its name.
    pub path: Vec<String>,
    pub is_method: bool,
    /// The receiver of a method call.
    pub receiver: TokenStream,
    pub arguments: TokenStream,
    /// From the last name of the path to the closing parenthesis.
    pub range: Range<usize>,
}

/// `Name { member: value, … }`
#[derive(Debug)]
pub(super) struct Structure {
    pub name: String,
    pub at: usize,
    pub members: TokenStream,
}

#[derive(Debug, Clone)]
pub(super) struct MacroCall {
    pub name: String,
    /// The name with its path.
    pub path: Vec<String>,
    pub arguments: TokenStream,
    pub range: Range<usize>,
}

/// `macro_rules! name { … }`
#[derive(Debug)]
pub(super) struct MacroRules {
    pub name: String,
    pub arms: TokenStream,
    pub range: Range<usize>,
    /// The enclosing group, or the whole file.
    pub scope: Range<usize>,
    /// Whether it has `#[macro_export]`.
    pub is_exported: bool,
}

/// A function with a body.
#[derive(Debug)]
pub(super) struct Function {
    pub name: String,
    pub body: Range<usize>,
    pub tokens: TokenStream,
    /// Parameter names without `self`; `None` for a pattern or a mutable parameter.
    pub parameters: Vec<Option<String>>,
    pub has_self: bool,
    /// The enclosing `impl` or `trait`.
    pub owner: Option<Owner>,
    /// The enclosing modules and type, within this file.
    pub container: Vec<String>,
}

/// An `impl` or a `trait`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// The type, or the trait's own name.
    pub name: String,
    pub of_trait: Option<String>,
    pub is_trait: bool,
}

impl RustFile {
    /// The file as it was written.
    pub fn source(&self) -> Arc<SourceFile> {
        Arc::clone(&self.file)
    }

    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The scanned code.
    pub fn text(&self) -> &str {
        self.code().text()
    }

    /// Offset of the first token.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The source span of a range of the code.
    pub fn span(&self, range: Range<usize>) -> Span {
        match &self.expanded {
            Some((_, places)) => places.span(&range),
            None => Span::new(&self.file, range),
        }
    }

    /// The source map of expanded macros, if any.
    pub fn places(&self) -> Option<&Places> {
        self.expanded.as_ref().map(|(_, places)| places)
    }

    /// The decoded string literal in a range of the code.
    pub fn decode(&self, literal: Range<usize>) -> Option<MappedText> {
        let decoded = literals::decode(self.code(), literal)?;
        Some(match &self.expanded {
            Some((_, places)) => places.through(&decoded),
            None => decoded,
        })
    }

    fn code(&self) -> &Arc<SourceFile> {
        self.expanded.as_ref().map_or(&self.file, |(code, _)| code)
    }
}

impl Binding {
    /// Whether the binding is a variable, not an item.
    pub fn is_local(&self) -> bool {
        self.local_to.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::lookup::Ambiguous;
    use super::*;

    pub(super) fn scan(text: &str) -> RustFile {
        RustFile::scan(&SourceFile::from_text("a.rs", text)).unwrap()
    }

    /// The binding of `name` at `@`; the `@` is removed from the text.
    pub(super) fn bound(name: &str, text: &str) -> String {
        let at = text.find('@').unwrap();
        let file = scan(&text.replace('@', " "));
        match file.binding(name, at) {
            Err(Ambiguous) => "ambiguous".to_string(),
            Ok(None) => "nothing".to_string(),
            Ok(Some(binding)) => match &binding.value {
                Value::Expression(tokens) => tokens.to_string(),
                Value::Path(path) => path.join("::"),
                Value::Initial(_) => "mutable".to_string(),
                Value::Sum(pieces) => pieces.iter().map(TokenStream::to_string).collect::<Vec<_>>().join(" + "),
                Value::Part { of, members, .. } => format!("{of} / {}", members.join(".")),
                Value::Unknown(Unknown::Parameter { index, .. }) => format!("parameter {index:?}"),
                Value::Unknown(why) => format!("{why:?}"),
            },
        }
    }
}
