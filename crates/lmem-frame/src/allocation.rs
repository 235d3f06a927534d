//! `alloca`: memory taken from the stack at run time, which no frame size includes.

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::DeclarationKind;
use lmem_base::source::Span;

use super::calls::call_range;
use crate::place::Places;
use crate::symbolize::name::Variable;

/// A call of `alloca`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The call, or the statement if a macro hides the call.
    pub span: Option<Span>,
    /// The requested size, as the source writes it.
    pub size: Option<String>,
}

/// Describes the allocation at `places` (innermost first) and the pointer that it initializes.
pub fn describe(places: &Places, trees: &SyntaxTrees<'_>) -> (Allocation, Option<Variable>) {
    let Some(place) = places.first() else { return (Allocation::default(), None) };
    let tree = place.tree(trees);
    let call = call_range(place, trees, is_alloca);
    let Some(call) = call else { return (Allocation { span: place.span(trees), size: None }, None) };
    let size = tree.text().get(call.clone()).and_then(|text| {
        let inner = text.split_once('(')?.1.strip_suffix(')')?;
        Some(inner.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    let variable = tree.initialized_at(call.start).and_then(|declaration| {
        Some(Variable {
            span: tree.span(declaration.range.0..declaration.range.1)?,
            name: declaration.name,
            type_text: declaration.type_text,
            kind: DeclarationKind::Array,
            is_parameter: false,
            bytes: None,
            initializer: None,
            sharing: Vec::new(),
            members: Vec::new(),
            volatility: None,
        })
    });
    (Allocation { span: tree.span(call), size }, variable)
}

/// Whether a function is `alloca`, or a function that `alloca` is a macro for.
pub fn is_alloca(function: &str) -> bool {
    matches!(function.trim_start_matches("::"), "alloca" | "__builtin_alloca" | "__builtin_alloca_with_align")
}
