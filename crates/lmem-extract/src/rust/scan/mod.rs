//! What a Rust file holds that matters here: names and what they are bound to, calls, string literals.
//!
//! This works on tokens, not on a syntax tree: much of the code in question stands in the arguments of macros
//! (`lazy_static!`, `vec!`, `assert!`), which are tokens only, and files that a parser refuses still give something.
//! Where tokens leave open whether a name is bound anew, it counts as bound to something unknown: that costs an
//! analysis, where the other way would give a wrong one.

pub mod calls;
mod growing;
mod items;
mod lookup;
pub mod patterns;
mod scanner;
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

use super::literals;
use crate::rust::macros::places::Places;

/// Everything found in one file.
#[derive(Debug)]
pub(super) struct RustFile {
    /// As it was written.
    file: Arc<SourceFile>,
    /// The code that was looked through, where that is not what was written. All places below are of this.
    expanded: Option<(Arc<SourceFile>, Places)>,
    /// Where the tokens begin.
    start: usize,
    /// Bindings by name, in the order of the source.
    bindings: BTreeMap<String, Vec<Binding>>,
    /// `use a::b::*`
    pub globs: Vec<(Range<usize>, Vec<String>)>,
    /// Every call `name(…)` and `x.name(…)`, for whoever knows which names matter.
    pub calls: Vec<Call>,
    /// Every `Name { … }` that makes a structure.
    pub structures: Vec<Structure>,
    /// Every `name!(…)`.
    pub macros: Vec<MacroCall>,
    /// Every `macro_rules!`, in the order of the source.
    pub definitions: Vec<MacroRules>,
    /// Where string literals stand, but for those in `#[doc = "…"]`.
    pub literals: Vec<Range<usize>>,
    /// In the order of their bodies' starts.
    pub functions: Vec<Function>,
    modules: Vec<(Range<usize>, Vec<String>)>,
    owners: Vec<(Range<usize>, Owner)>,
    /// Whether there was more nesting than is looked into.
    pub is_too_deep: bool,
}

/// A name and what it stands for.
#[derive(Debug)]
pub(super) struct Binding {
    /// Bytes of the file where the name means this.
    pub visible: Range<usize>,
    /// Modules, then the type of the `impl`, around it, inside of this file.
    pub container: Vec<String>,
    /// The trait that it belongs to, by its declaration or by an `impl`.
    pub of_trait: Option<String>,
    /// Not one of a `trait`'s own, which others may replace.
    pub is_final: bool,
    /// A constant of an `impl` or a `trait`: only `Self::` and the type's name lead to it.
    is_associated: bool,
    pub value: Value,
    /// Body of the function that a local variable belongs to; `None` for items, which inner functions see too.
    local_to: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Expression(TokenStream),
    /// Pieces that a string is put together from, one statement after the other.
    Sum(Vec<TokenStream>),
    /// A part of a value: an element of what a loop goes through, a member that a pattern takes out.
    Part {
        of: TokenStream,
        is_element: bool,
        members: Vec<String>,
        why: Unknown,
    },
    /// What a variable has at first; it may change.
    Initial(TokenStream),
    /// Another name, from a `use`.
    Path(Vec<String>),
    Unknown(Unknown),
}

/// Why a name's value is not known.
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

/// A call by path, or of a method.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// `["cudarc", "nvrtc", "compile_ptx"]`; a method's name alone.
    pub path: Vec<String>,
    pub is_method: bool,
    /// What a method is called on.
    pub receiver: TokenStream,
    pub arguments: TokenStream,
    /// From the path's last name to the closing parenthesis.
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
    /// The name with the path before it.
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
    /// The group that it stands in, or the whole file.
    pub scope: Range<usize>,
    /// Whether `#[macro_export]` stands before it.
    pub is_exported: bool,
}

/// A function with a body.
#[derive(Debug)]
pub(super) struct Function {
    pub name: String,
    pub body: Range<usize>,
    pub tokens: TokenStream,
    /// Names of the parameters but for `self`; none where it is a pattern, or may be written.
    pub parameters: Vec<Option<String>>,
    pub has_self: bool,
    /// The `impl` or `trait` that it stands in.
    pub owner: Option<Owner>,
    /// Modules and the type around it, inside of this file.
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

    /// The code that was looked through.
    pub fn text(&self) -> &str {
        self.code().text()
    }

    /// Where its tokens begin.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Where a piece of the code was written.
    pub fn span(&self, range: Range<usize>) -> Span {
        match &self.expanded {
            Some((_, places)) => places.span(&range),
            None => Span::new(&self.file, range),
        }
    }

    /// Where what calls of macros stand for comes from.
    pub fn places(&self) -> Option<&Places> {
        self.expanded.as_ref().map(|(_, places)| places)
    }

    /// The meaning of the string literal at a place of the code.
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
    /// A variable, in a function or anywhere else.
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

    /// What `name` is bound to where `@` stands; the `@` is taken out.
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
