//! The source locations of a function: its name, its body, and its launch bounds.

use std::collections::BTreeSet;
use std::ops::Range;

use cuda_syntax::tree::{BoundsPlace, FunctionSyntax};
use cuda_syntax::{SyntaxTrees, TreeId};
use lmem_base::mangling::DELETING;
use lmem_base::source::Span;
use nv_code::{Location, PtxFunction, PtxModule};

use crate::frame::LaunchBounds;

/// A function in the source.
pub struct Described {
    pub span: Option<Span>,
    /// The opening brace of its body.
    pub body: Option<Span>,
    pub syntax: Option<(LaunchBounds, FunctionSyntax)>,
}

/// The destructors that a deleting destructor belongs to, by their mangled names.
fn destructors(name: &str) -> Vec<String> {
    let class = name.strip_suffix(DELETING).into_iter();
    class.flat_map(|class| ["D1Ev", "D2Ev"].map(|kind| format!("{class}{kind}"))).collect()
}

/// The only launch bounds with the numbers of the compiled function that stand on a declaration of its name, or in a
/// branch of conditional compilation before it.
fn bounds_elsewhere(function: &PtxFunction, name: &str, trees: &SyntaxTrees<'_>) -> Option<Span> {
    let numbers: Vec<u32> = function.max_thread_count().into_iter().chain(function.min_blocks).collect();
    function.max_thread_count().filter(|_| !name.is_empty())?;
    let all: BTreeSet<TreeId> = trees.all().into_iter().collect();
    let mut found = all.into_iter().filter_map(|id| trees.tree(id).span(trees.tree(id).bounds_of(name, &numbers)?));
    found.next().filter(|_| found.next().is_none())
}

/// Finds a function in the source.
pub fn describe(function: &PtxFunction, module: &PtxModule, trees: &SyntaxTrees<'_>) -> Option<Described> {
    let Some(location) = function.locations.iter().find(|location| location.inlined_at.is_none() && location.line > 0)
    else {
        // The compiler writes the destructor that also frees the object, and gives it no lines.
        let written = destructors(&function.name).into_iter().find_map(|name| module.function(&name))?;
        return describe(written, module, trees);
    };
    let (tree, line) = trees.locate(module.files.get(&location.file)?, location.line)?;
    let tree = trees.tree(tree);
    let range = tree.line_range(line as usize)?;
    let syntax = tree
        .function_at(range.end.saturating_sub(1).max(range.start))
        .or_else(|| tree.function_at(tree.offset(line, 0)?))
        // A method on the same line as its class: the location of its first instruction lies inside the body.
        .or_else(|| {
            let own = |inner: &&Location| inner.inlined_at.is_none() && inner.column > 0 && inner.file == location.file;
            let inner = function.locations.iter().find(own)?;
            let (_, line) = trees.locate(module.files.get(&inner.file)?, inner.line)?;
            tree.function_at(tree.offset(line, inner.column)?)
        });
    let span =
        syntax.as_ref().and_then(|syntax| tree.span(syntax.name.clone())).or_else(|| tree.line_span(line as usize));
    let body = syntax.as_ref().and_then(|syntax| tree.span(syntax.body?..syntax.body? + 1));
    let syntax = syntax.map(|syntax| {
        let span = |range: &Option<Range<usize>>| range.clone().and_then(|range| tree.span(range));
        let own = LaunchBounds {
            span: span(&syntax.launch_bounds).filter(|_| !syntax.is_conditional),
            max_registers_span: span(&syntax.max_registers),
            place: syntax.bounds_place,
        };
        let name = tree.text().get(syntax.name.clone()).unwrap_or("");
        let elsewhere = || bounds_elsewhere(function, name, trees);
        match own.span.is_none().then(elsewhere).flatten() {
            Some(span) => (LaunchBounds { span: Some(span), place: BoundsPlace::Elsewhere, ..own }, syntax),
            None => (own, syntax),
        }
    });
    Some(Described { span, body, syntax })
}
