//! Text of a file or of a kernel string as the compiler's line tables number it, with its syntax tree.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tree_sitter::{Parser, Tree};

use crate::ast::{Node, language};
use lmem_base::source::{SourceFile, Span, normalize};
use lmem_unit::{
    Artifacts, CompiledText, CompiledUnit, FrontEnd, MappedText, TokenKind, TranslationUnit, UnitCode, tokens,
};

use crate::tree::Memory;
use crate::tree::line_marks::LineMarks;
use crate::tree::mentions::Mention;

/// A text that the compiler read, with the way back to the file that the user edits.
pub struct SyntaxTree {
    text: MappedText,
    compiled: CompiledText,
    line_starts: Vec<usize>,
    line_marks: LineMarks,
    tree: Option<Tree>,
    pub(crate) memory: Memory,
}

impl SyntaxTree {
    /// `compiled` tells what became of the text.
    pub fn new(text: MappedText, compiled: CompiledText) -> Self {
        let mut tree = Self::plain(text);
        tree.compiled = compiled;
        let mut parser = Parser::new();
        let parsed = without_pragmas_within_statements(tree.text.as_str());
        tree.tree = parser.set_language(language()).ok().and_then(|()| parser.parse(parsed.as_ref(), None));
        tree
    }

    /// A text that is not CUDA C++: there is nothing to ask its syntax.
    pub fn plain(text: MappedText) -> Self {
        let line_starts = std::iter::once(0).chain(text.as_str().match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line_marks = LineMarks::of(text.as_str());
        Self { text, compiled: CompiledText::Unknown, line_starts, line_marks, tree: None, memory: Memory::default() }
    }

    /// A text whose own directives are all that changes it.
    pub fn example(name: &str, text: &str) -> Self {
        let compiled = lmem_unit::compiled_string(text, &[], &|_| true);
        Self::new(MappedText::from_file(&SourceFile::from_text(name, text)), compiled)
    }

    /// What the compiler compiled of the text.
    pub fn compiled(&self) -> &CompiledText {
        &self.compiled
    }

    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    pub fn root(&self) -> Option<Node<'_>> {
        self.tree.as_ref().map(Node::root)
    }

    /// The smallest node at an offset that is no operator, bracket or keyword.
    pub fn node_at(&self, offset: usize) -> Option<Node<'_>> {
        self.root()?.named_descendant_for_byte_range(offset, offset)
    }

    /// All nodes in the order of the text.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.root().into_iter().flat_map(Node::descendants)
    }

    /// The source bytes of a range of the text.
    pub fn span(&self, range: Range<usize>) -> Option<Span> {
        self.text.span(range)
    }

    /// Text of a node.
    pub fn slice(&self, node: Node<'_>) -> &str {
        self.text().get(node.byte_range()).unwrap_or("")
    }

    /// Bytes of a line, counted from 1, without its ending.
    pub fn line_range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.line_starts.get(line.checked_sub(1)?)?;
        let end = self.line_starts.get(line).map_or(self.text().len(), |next| next - 1);
        Some(start..end.max(start))
    }

    /// Line, from 1, of an offset.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Offset of a line and column, both from 1; a column of 0 gives the first character that is not blank.
    pub fn offset(&self, line: u32, column: u32) -> Option<usize> {
        let range = self.line_range(line as usize)?;
        let text = &self.text()[range.clone()];
        let blank = text.len() - text.trim_start().len();
        let column = if column == 0 { blank } else { column as usize - 1 };
        Some((range.start + column).min(range.end))
    }

    /// The non-blank part of a line as a span.
    pub fn line_span(&self, line: usize) -> Option<Span> {
        let range = self.line_range(line)?;
        let text = &self.text()[range.clone()];
        let start = range.start + (text.len() - text.trim_start().len());
        self.span(start..(range.start + text.trim_end().len()).max(start))
    }
}

/// One of the texts of a unit: they are numbered in the order in which they are first asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(u32);

/// A syntax tree, bytes of a region, and function.
pub(crate) type MentionKey = (TreeId, usize, usize, Option<Arc<str>>);

/// The syntax trees of one unit: its own text, and the files of the workspace that it includes.
///
/// Facts about the source name a syntax tree by its `TreeId`, so that they are plain values; who needs the syntax tree asks
/// here for it.
pub struct SyntaxTrees<'a> {
    unit: CompiledUnit<'a>,
    /// Folder that relative names start from.
    folder: &'a Path,
    /// Files below this folder are the user's; others are the toolkit's or the system's.
    root: &'a Path,
    /// What nvcc's front end says of local variables.
    pub front_end: &'a FrontEnd,
    /// Uses of variables by tree, region and function, as `resolve` finds them.
    pub mentions: RefCell<HashMap<MentionKey, Rc<[Mention]>>>,
    /// The number of each file's tree; `None` for files that are not the user's.
    numbers: RefCell<HashMap<PathBuf, Option<TreeId>>>,
    trees: TreeList,
    /// Stands for numbers of other units.
    empty: Rc<SyntaxTree>,
}

/// Syntax trees in the order of their numbers. The list only grows, so that references to its elements stay valid.
#[derive(Default)]
struct TreeList(OnceCell<Box<(Rc<SyntaxTree>, TreeList)>>);

impl TreeList {
    fn get(&self, id: TreeId) -> Option<&Rc<SyntaxTree>> {
        let mut list = self;
        for _ in 0..id.0 {
            list = &list.0.get()?.1;
        }
        list.0.get().map(|node| &node.0)
    }

    fn push(&self, tree: SyntaxTree) -> TreeId {
        let (mut list, mut number) = (self, 0);
        while let Some(node) = list.0.get() {
            (list, number) = (&node.1, number + 1);
        }
        list.0.get_or_init(|| Box::new((Rc::new(tree), Self::default())));
        TreeId(number)
    }
}

impl<'a> SyntaxTrees<'a> {
    pub fn new(unit: &'a TranslationUnit, artifacts: &'a Artifacts, root: &'a Path) -> Self {
        Self {
            unit: artifacts.compiled_unit(unit),
            folder: &artifacts.folder,
            root,
            front_end: &artifacts.front_end,
            mentions: RefCell::default(),
            numbers: RefCell::default(),
            trees: TreeList::default(),
            empty: Rc::new(SyntaxTree::plain(MappedText::default())),
        }
    }

    /// The tree of a number that these trees gave; an empty one for any other number.
    pub fn tree(&self, id: TreeId) -> &Rc<SyntaxTree> {
        self.trees.get(id).unwrap_or(&self.empty)
    }

    /// The number of the unit's own text, where that is the PTX itself.
    pub fn ptx_id(&self) -> Option<TreeId> {
        let UnitCode::Ptx { text, .. } = &self.unit.unit.code else { return None };
        let number = || Some(self.trees.push(SyntaxTree::plain(text.clone())));
        *self.numbers.borrow_mut().entry(PathBuf::new()).or_insert_with(number)
    }

    /// The unit's own text, where that is the PTX itself.
    pub fn ptx(&self) -> Option<&Rc<SyntaxTree>> {
        self.ptx_id().map(|id| self.tree(id))
    }

    /// The number of a file's tree by the name that a line table gives the file; `None` for files that are not the
    /// user's. Names of one file that differ (`a/../b`) give one tree.
    pub fn id(&self, name: &str) -> Option<TreeId> {
        let path = normalize(&self.folder.join(name));
        if let Some(known) = self.numbers.borrow().get(&path) {
            return *known;
        }
        let number = self.open(&path).map(|tree| self.trees.push(tree));
        self.numbers.borrow_mut().insert(path, number);
        number
    }

    /// The place of a line that a line table names: `#line` directives count lines in their own way, and may name files
    /// that there are not. None where several lines may be it.
    pub fn locate(&self, name: &str, line: u32) -> Option<(TreeId, u32)> {
        let named = self.id(name);
        if let Some(id) = named.filter(|id| self.tree(*id).line_marks.is_empty()) {
            return Some((id, line));
        }
        let id = named.or_else(|| self.own_id())?;
        let path = normalize(&self.folder.join(name));
        Some((id, self.tree(id).line_marks.physical(&path, named.is_some(), line)?))
    }

    /// The number of the unit's own text.
    fn own_id(&self) -> Option<TreeId> {
        match &self.unit.unit.code {
            UnitCode::CudaFile { file, .. } => self.id(&file.path.to_string_lossy()),
            UnitCode::CudaText { options, .. } => {
                self.id(options.program_name.as_deref().unwrap_or(lmem_unit::STRING_NAME))
            }
            UnitCode::Ptx { .. } | UnitCode::Machine(_) => None,
        }
    }

    /// The tree of a file by the name that a line table gives the file.
    pub fn get(&self, name: &str) -> Option<&Rc<SyntaxTree>> {
        self.id(name).map(|id| self.tree(id))
    }

    fn open(&self, path: &Path) -> Option<SyntaxTree> {
        let of_file = |file| SyntaxTree::new(MappedText::from_file(file), self.unit.file(file));
        match &self.unit.unit.code {
            UnitCode::CudaText { text, options } if is_program(path, self.folder, options.program_name.as_deref()) => {
                return Some(SyntaxTree::new(text.clone(), self.unit.string()));
            }
            UnitCode::CudaFile { file, .. } if *path == normalize(&file.path) => return Some(of_file(file)),
            _ => {}
        }
        let file = SourceFile::read_named(path, self.root, &[self.root, &self.unit.unit.base])?;
        Some(of_file(&file))
    }
}

/// The text with blanks for pragmas between the head of a statement and its body: for the grammar a pragma is a statement
/// of its own, so that the loop behind it would not be part of the loop before it.
fn without_pragmas_within_statements(text: &str) -> Cow<'_, str> {
    if !text.contains("pragma") {
        return Cow::Borrowed(text);
    }
    let mut parsed: Vec<u8> = Vec::new();
    let mut at = 0;
    let mut before = "";
    for token in tokens(text) {
        let word = text.get(token.range.clone()).unwrap_or("");
        if token.kind != TokenKind::Directive {
            before = word;
        } else if matches!(before, ")" | "else" | "do")
            && word.trim_start_matches(['#', ' ', '\t']).starts_with("pragma")
        {
            let is_line_end = |byte: u8| matches!(byte, b'\n' | b'\r');
            parsed.extend(&text.as_bytes()[at..token.range.start]);
            parsed.extend(word.bytes().map(|byte| if is_line_end(byte) { byte } else { b' ' }));
            at = token.range.end;
        }
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    parsed.extend(&text.as_bytes()[at..]);
    // A blank for each byte leaves no part of a character behind.
    Cow::Owned(String::from_utf8(parsed).unwrap_or_else(|_| text.to_string()))
}

/// NVRTC makes the program's name absolute with its working folder.
fn is_program(path: &Path, folder: &Path, name: Option<&str>) -> bool {
    *path == normalize(&folder.join(name.unwrap_or(lmem_unit::STRING_NAME)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Kind;

    #[test]
    fn lines_and_columns() {
        let tree = SyntaxTree::example("a.cu", "a\n  bc\n");
        assert_eq!(tree.offset(2, 3), Some(4));
        assert_eq!(tree.offset(2, 0), Some(4));
        assert_eq!(tree.offset(9, 1), None);
        assert_eq!(tree.line_span(2).unwrap().text(), "bc");
    }

    #[test]
    fn pragmas_do_not_tear_loops_apart() {
        let text = "void f() {\n#pragma unroll\n  for (;;)\n#pragma unroll // ü\n    for (;;) g();\n}\n";
        let tree = SyntaxTree::example("a.cu", text);
        let root = tree.root().unwrap();
        assert!(!root.has_error());
        let inner =
            root.named_descendant_for_byte_range(text.rfind("for").unwrap(), text.rfind(";)").unwrap()).unwrap();
        assert_eq!(inner.parent().map(|parent| parent.kind()), Some(Kind::ForStatement));
        assert_eq!(root.descendants().filter(|node| node.kind() == Kind::PreprocCall).count(), 1);
    }
}
