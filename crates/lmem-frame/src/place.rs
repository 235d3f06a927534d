//! Maps lines of the PTX to locations in the user's files.

use std::rc::Rc;
use std::sync::Arc;

use cuda_syntax::{SyntaxTree, SyntaxTrees, TreeId};
use lmem_base::source::Span;
use nv_code::{PtxFunction, PtxModule, SourceLine};

/// A source location: one level of an inline chain, as DWARF's inlined frames are.
///
/// This is a plain value; the syntax tree of its text comes from the `SyntaxTrees` of the unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub tree: TreeId,
    pub line: u32,
    pub offset: usize,
    /// Mangled name of the function instance that the line belongs to.
    pub function: Option<Arc<str>>,
    /// The function inlined here, for all levels but the innermost.
    pub callee: Option<Arc<str>>,
}

impl Place {
    /// The syntax tree of the text that contains the location.
    pub fn tree<'v>(&self, trees: &'v SyntaxTrees<'_>) -> &'v Rc<SyntaxTree> {
        trees.tree(self.tree)
    }

    /// The statements at the location, up to the end of their first line; otherwise the whole line.
    pub fn span(&self, trees: &SyntaxTrees<'_>) -> Option<Span> {
        let tree = self.tree(trees);
        let line = tree.line_range(self.line as usize)?;
        let regions = tree.regions(self.offset);
        let region = regions.first().zip(regions.last()).map(|(first, last)| first.start_byte()..last.end_byte());
        let range = region.filter(|region| region.start <= self.offset && line.contains(&region.start));
        match range {
            Some(range) => {
                let end = range.end.min(line.end);
                let text = tree.text().get(range.start..end)?.trim_end();
                tree.span(range.start..range.start + text.len())
            }
            None => tree.line_span(self.line as usize),
        }
    }
}

/// The inline chain of a PTX instruction, restricted to the user's files, innermost level first.
pub fn places(
    trees: &SyntaxTrees<'_>,
    module: &PtxModule,
    function: &PtxFunction,
    location: Option<u32>,
) -> Vec<Place> {
    levels(trees, module, function, location).collect()
}

/// The same, one level after the other: most questions are about the innermost one.
pub fn levels<'p>(
    trees: &'p SyntaxTrees<'_>,
    module: &'p PtxModule,
    function: &'p PtxFunction,
    location: Option<u32>,
) -> impl Iterator<Item = Place> + 'p {
    let chain = location.map(|index| function.location_chain(index as usize)).unwrap_or_default();
    (0..chain.len()).filter_map(move |level| {
        let inlined = |level: usize| chain.get(level).and_then(|location| location.function.clone());
        let location = chain.get(level).filter(|location| location.line > 0)?;
        let (tree, line) = trees.locate(module.files.get(&location.file)?, location.line)?;
        let offset = trees.tree(tree).offset(line, location.column)?;
        let outermost = || (level + 1 == chain.len()).then(|| Arc::clone(&function.name));
        let callee = level.checked_sub(1).and_then(inlined);
        Some(Place { tree, line, offset, function: inlined(level).or_else(outermost), callee })
    })
}

/// The same, from a line table without columns.
pub fn places_of_lines(trees: &SyntaxTrees<'_>, lines: &[SourceLine]) -> Vec<Place> {
    lines
        .iter()
        .filter_map(|line| {
            let (tree, line) = trees.locate(&line.file, line.line)?;
            let offset = trees.tree(tree).offset(line, 0)?;
            Some(Place { tree, line, offset, function: None, callee: None })
        })
        .collect()
}
