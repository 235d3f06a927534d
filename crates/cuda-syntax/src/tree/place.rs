//! Locations in the user's files, and the calls that the code there was inlined at.

use std::rc::Rc;
use std::sync::Arc;

use lmem_base::chain::Chain;
use lmem_base::source::Span;

use crate::tree::syntax_tree::{SyntaxTree, SyntaxTrees, TreeId};

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

/// An inline chain, innermost level first. Code that was inlined at one call shares the levels from there on.
pub type Places = Chain<Place>;

/// What tells the inline chains of a unit apart: the function with the code, the number of a location in it, and the function that was
/// inlined there.
pub type PlacesKey = (Arc<str>, u32, Option<Arc<str>>);

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
