//! The compiled texts of one unit: files by the preprocessor's output, a kernel string by its own directives.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use lmem_base::source::{SourceFile, Span};

use super::{AsCompiled, Beside, CompiledText, Hidden};
use crate::as_compiled::string_text::compiled_string;
use crate::{TranslationUnit, UnitCode};

/// What one use of a macro hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenCode {
    /// The macro; empty for lines below an `#if` that were not compiled.
    pub name: String,
    /// Its line in the file.
    pub line: Option<usize>,
    /// It stands for an operand of an expression.
    pub is_operand: bool,
    /// The words that it may read or write.
    pub words: BTreeSet<String>,
}

/// A unit with the facts of one compilation.
#[derive(Clone, Copy)]
pub struct CompiledUnit<'a> {
    pub unit: &'a TranslationUnit,
    pub files: &'a AsCompiled,
    /// Files that the compilation read.
    pub dependencies: &'a [PathBuf],
}

impl CompiledUnit<'_> {
    /// The compiled form of the unit's own text, if that is a kernel string.
    pub fn string(&self) -> CompiledText {
        let UnitCode::CudaText { text, options } = &self.unit.code else { return CompiledText::Unknown };
        let given = options.captured.iter().flat_map(|captured| &captured.headers).map(|(name, _)| name.as_str());
        let given: Vec<&str> = given.collect();
        let is_toolkit = |directive: &str| {
            let name = directive.split(['<', '>', '"']).nth(1).unwrap_or("");
            let is_read = self.dependencies.iter().any(|path| path.ends_with(name));
            !name.is_empty() && !given.contains(&name) && !is_read
        };
        compiled_string(text.as_str(), &options.arguments, &is_toolkit)
    }

    /// The compiled form of a file of the unit, includes counted.
    pub fn file(&self, file: &SourceFile) -> CompiledText {
        self.known(file).clone()
    }

    fn known(&self, file: &SourceFile) -> &CompiledText {
        self.files.known(&lmem_base::source::normalize(&file.path), &self.unit.base, file.text())
    }

    /// The names that the unit's other files declare.
    pub fn declared_beside(&self, file: &SourceFile) -> BTreeSet<String> {
        self.files.declared_beside(&lmem_base::source::normalize(&file.path), &self.unit.base)
    }

    /// What the unit's other files declare, and may do.
    pub fn beside(&self, file: &SourceFile) -> Beside {
        self.files.beside(&lmem_base::source::normalize(&file.path), &self.unit.base)
    }

    /// The compiled text of a range of a file, equal for equal code; `None` if it is not faithful to the file. Of a kernel
    /// string it has the text itself: several may be made of one template.
    pub fn signature(&self, span: &Span) -> Option<String> {
        match &self.unit.code {
            UnitCode::CudaText { text, .. } => {
                let range = text.range_of(span)?;
                let signature = self.string().signature(text.as_str(), &range)?;
                Some(format!("{signature}\n{}", text.as_str().get(range)?))
            }
            _ => self.known(&span.file).signature(span.file.text(), &span.range()),
        }
    }

    /// What macros hide in a span; `None` where an edit can't stand beside it.
    pub fn hidden_statements(&self, span: &Span) -> Option<Vec<HiddenCode>> {
        let string;
        let (compiled, text, range) = match &self.unit.code {
            UnitCode::CudaText { text, .. } => {
                string = self.string();
                (&string, text.as_str(), text.range_of(span)?)
            }
            _ => (self.known(&span.file), span.file.text(), span.range()),
        };
        let place = |offset: usize| match &self.unit.code {
            UnitCode::CudaText { text, .. } => text.place(offset),
            _ => Some(Span::new(&span.file, offset..offset)),
        };
        let found = compiled.hidden_statements(text, &range)?;
        // A header may declare a function that has the name of CUDA's.
        let beside = OnceCell::new();
        let is_beside = |name: &&str| beside.get_or_init(|| self.declared_beside(&span.file)).contains(*name);
        if found.iter().flat_map(Hidden::calls).any(|name| is_beside(&name)) {
            return None;
        }
        let name = |own: &str, is_skipped: bool| {
            let word = own.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|_| !is_skipped);
            word.unwrap_or("").to_string()
        };
        let code = |hidden: Hidden<'_>| HiddenCode {
            name: name(hidden.own[1], hidden.is_skipped),
            line: place(hidden.range.start).map(|place| place.start_line()),
            is_operand: hidden.operand.is_some(),
            words: hidden.words().into_iter().map(str::to_string).collect(),
        };
        Some(found.into_iter().map(code).collect())
    }
}
