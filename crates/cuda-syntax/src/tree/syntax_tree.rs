//! A file or kernel string, with the line numbers of the compiler's line tables, and its syntax tree.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tree_sitter::Parser;

use crate::ast::{Node, Nodes, language};
use lmem_base::mangling::demangle;
use lmem_base::source::{SourceFile, Span, normalize};
use lmem_unit::{
    Artifacts, Behaviour, Beside, CompiledText, CompiledUnit, FrontEnd, MappedText, TokenKind, TranslationUnit,
    UnitCode, each_token,
};

use crate::tree::attributes::{blanked, unparsed_attributes};
use crate::tree::line_marks::LineMarks;
use crate::tree::list_directives::definitions_in_lists;
use crate::tree::long_lists::{long_lists, with_names};
use crate::tree::macro_heads::{heads, with_operators};
use crate::tree::mentions::Mention;
use crate::tree::place::{Places, PlacesKey};
use crate::tree::skipped::skipped_in_blocks;
use crate::tree::{CallSyntax, Memory, base_name};

/// The text that the compiler read, with its syntax tree and its mapping to the user's file.
pub struct SyntaxTree {
    text: MappedText,
    compiled: CompiledText,
    line_starts: Vec<usize>,
    line_marks: LineMarks,
    /// The attributes, and the heads of statements that macros write, that the parser did not see, in order.
    attributes: Vec<Range<usize>>,
    /// Those of them that are heads.
    heads: Vec<Range<usize>>,
    /// The lines of functions that no compiler saw, and neither does the parser.
    skipped: Vec<Range<usize>>,
    /// What the unit's other files declare, and may do.
    beside: Beside,
    nodes: Option<Nodes>,
    pub(crate) memory: Memory,
}

impl SyntaxTree {
    /// Parses a text; `compiled` describes its compiled form.
    pub fn new(text: MappedText, compiled: CompiledText) -> Self {
        let mut tree = Self::plain(text);
        tree.compiled = compiled;
        let Some(lists) = long_lists(tree.text.as_str()) else { return tree };
        let mut parser = Parser::new();
        tree.heads = heads(&tree.compiled);
        tree.attributes = unparsed_attributes(tree.text.as_str(), &tree.compiled, &tree.heads);
        let parsed = with_operators(tree.text.as_str(), &tree.compiled);
        let parsed = blanked(&parsed, &tree.attributes);
        // The directives stay: what is declared below one is known to depend on it.
        tree.skipped = skipped_in_blocks(tree.text.as_str(), &tree.compiled);
        let parsed = blanked(&parsed, &tree.skipped);
        let definitions = definitions_in_lists(&parsed);
        let parsed = blanked(&parsed, &definitions);
        let parsed = without_pragmas_within_statements(&parsed);
        let parsed = with_names(&parsed, &lists);
        let parsed = parser.set_language(language()).ok().and_then(|()| parser.parse(parsed.as_ref(), None));
        tree.nodes = parsed.map(|parsed| Nodes::of(&parsed, tree.text.as_str()));
        tree
    }

    /// A text that is not CUDA C++ and has no syntax tree.
    pub fn plain(text: MappedText) -> Self {
        let line_starts = std::iter::once(0).chain(text.as_str().match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line_marks = LineMarks::of(text.as_str());
        Self {
            text,
            compiled: CompiledText::Unknown,
            line_starts,
            line_marks,
            attributes: Vec::new(),
            heads: Vec::new(),
            skipped: Vec::new(),
            beside: Beside::default(),
            nodes: None,
            memory: Memory::default(),
        }
    }

    /// The statements that a macro became, as the body of a function; heads of loops have an empty statement behind them.
    pub(super) fn of_macro(compiled: &str) -> Self {
        let file = SourceFile::from_text("macro", &format!("void f() {{ {compiled} ; }}\n"));
        Self::new(MappedText::from_file(&file), CompiledText::Known(Vec::new()))
    }

    /// A text that only its own preprocessor directives change, for tests.
    pub fn example(name: &str, text: &str) -> Self {
        let compiled = lmem_unit::compiled_string(text, &[], &|_| true);
        Self::new(MappedText::from_file(&SourceFile::from_text(name, text)), compiled)
    }

    /// The tree of a file, beside others of a unit.
    #[must_use]
    pub fn with_beside(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }

    /// Whether another file of the unit declares a name, or has `operator` or `struct` in it.
    pub fn is_declared_beside(&self, name: &str) -> bool {
        self.beside.declared.contains(name)
    }

    /// The operators of the unit's files as they were compiled, but for what the text itself shows.
    pub fn operators_of_unit(&self) -> &BTreeSet<String> {
        &self.beside.operators
    }

    /// Whether it is known what the unit's other files declare.
    pub fn knows_beside(&self) -> bool {
        self.beside.is_known
    }

    /// What the functions and classes of the unit's other files may do.
    pub fn behaviour_beside(&self) -> &Behaviour {
        &self.beside.behaviour
    }

    /// The compiled form of the text.
    pub fn compiled(&self) -> &CompiledText {
        &self.compiled
    }

    /// The attributes and heads that the parser did not see.
    pub(super) fn attributes(&self) -> &[Range<usize>] {
        &self.attributes
    }

    /// The heads of statements that macros write.
    pub(super) fn heads(&self) -> &[Range<usize>] {
        &self.heads
    }

    /// The lines of functions that the parser did not see, as another branch of an `#if` has them, in order.
    pub(super) fn skipped(&self) -> &[Range<usize>] {
        &self.skipped
    }

    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    pub fn root(&self) -> Option<Node<'_>> {
        self.nodes.as_ref().map(Node::root)
    }

    /// The smallest named node at an offset.
    pub fn node_at(&self, offset: usize) -> Option<Node<'_>> {
        self.root()?.named_descendant_for_byte_range(offset, offset)
    }

    /// The node that a number identifies.
    pub fn node(&self, id: usize) -> Option<Node<'_>> {
        Node::of_id(self.nodes.as_ref()?, id)
    }

    /// All nodes in source order.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.root().into_iter().flat_map(Node::descendants)
    }

    /// The source span of a range of the text.
    pub fn span(&self, range: Range<usize>) -> Option<Span> {
        self.text.span(range)
    }

    /// The offset of a span in the text, if the text has it unchanged.
    pub fn offset_of(&self, span: &Span) -> Option<usize> {
        let name = span.text();
        let is_it = |offset: &usize| {
            let range = *offset..offset + name.len();
            self.text().get(range.clone()) == Some(name) && self.span(range).as_ref() == Some(span)
        };
        self.text.starts_of(span).filter(|_| !name.is_empty()).find(is_it)
    }

    /// The text of a node.
    pub fn slice(&self, node: Node<'_>) -> &str {
        self.text().get(node.byte_range()).unwrap_or("")
    }

    /// The byte range of a line, counted from 1, without its line ending.
    pub fn line_range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.line_starts.get(line.checked_sub(1)?)?;
        let end = self.line_starts.get(line).map_or(self.text().len(), |next| next - 1);
        Some(start..end.max(start))
    }

    /// Whether the code of a line is in a function.
    fn is_in_function(&self, line: u32) -> bool {
        let Some(range) = self.line_range(line as usize) else { return false };
        let blank = self.text().get(range.clone()).map_or(0, |text| text.len() - text.trim_start().len());
        blank < range.len() && self.function_at(range.start + blank).is_some()
    }

    /// The line of an offset, counted from 1.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// The offset of a line and column, both from 1; a column of 0 gives the first non-blank character.
    pub fn offset(&self, line: u32, column: u32) -> Option<usize> {
        let range = self.line_range(line as usize)?;
        let text = &self.text()[range.clone()];
        let blank = text.len() - text.trim_start().len();
        let column = if column == 0 { blank } else { column as usize - 1 };
        Some(self.behind_head((range.start + column).min(range.end)))
    }

    /// Whether `#line` gives lines other numbers than those that they have.
    pub fn has_line_marks(&self) -> bool {
        !self.line_marks.is_empty()
    }

    /// The non-blank part of a line as a span.
    pub fn line_span(&self, line: usize) -> Option<Span> {
        let range = self.line_range(line)?;
        let text = &self.text()[range.clone()];
        let start = range.start + (text.len() - text.trim_start().len());
        self.span(start..(range.start + text.trim_end().len()).max(start))
    }
}

/// Identifies a syntax tree of a unit. Numbers are given in the order of first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(u32);

/// Syntax tree, byte range of a region, and function.
pub(crate) type MentionKey = (TreeId, usize, usize, Option<Arc<str>>);

/// Syntax tree, offset, and mangled name of the called function.
type CallKey = (TreeId, usize, Arc<str>);

/// The calls of a function in the statements at a place.
pub struct CallsAt {
    /// The function's name without scopes and template arguments.
    pub base: String,
    pub calls: Vec<CallSyntax>,
}

/// The syntax trees of one unit: its own text, and the workspace files that it includes.
///
/// Facts about the source refer to a tree by its `TreeId`, which keeps them plain values. Code that needs the tree asks
/// for it here.
pub struct SyntaxTrees<'a> {
    unit: CompiledUnit<'a>,
    /// The base folder of relative names.
    folder: &'a Path,
    /// Files below this folder belong to the user; all others are the toolkit's or the system's.
    root: &'a Path,
    /// The front end's facts on local variables.
    pub front_end: &'a FrontEnd,
    /// Resolved uses of variables, by tree, region and function.
    pub mentions: RefCell<HashMap<MentionKey, Rc<[Mention]>>>,
    /// Inline chains. A unit has one PTX, so that a location's number tells which location it is.
    pub places: RefCell<HashMap<PlacesKey, Places>>,
    /// Calls of functions, by tree, offset and mangled name.
    calls: RefCell<HashMap<CallKey, Rc<CallsAt>>>,
    /// The tree of each file; `None` for files that are not the user's.
    numbers: RefCell<HashMap<PathBuf, Option<TreeId>>>,
    /// The same by the names in line tables, which each level of each inline chain asks for.
    names: RefCell<HashMap<String, Option<TreeId>>>,
    /// Sizes of types by their text, as far as the front end's variables tell. `None` where two of one name differ.
    type_sizes: OnceCell<HashMap<Box<str>, Option<u64>>>,
    trees: TreeList,
    /// Returned for a `TreeId` of another unit.
    empty: Rc<SyntaxTree>,
}

fn sizes_of_types(front_end: &FrontEnd) -> HashMap<Box<str>, Option<u64>> {
    let mut sizes: HashMap<Box<str>, Option<u64>> = HashMap::new();
    let mut note = |name: &str, size| {
        let known = sizes.entry(name.into()).or_insert(Some(size));
        *known = known.filter(|known| *known == size);
    };
    for variable in front_end.functions.values().flatten() {
        let Some(bytes) = variable.bytes else { continue };
        let name = variable.type_text.trim_start_matches("const ").trim();
        note(name, bytes);
        let Some((element, extents)) = name.split_once('[') else { continue };
        let extents = extents.trim_end_matches(']').split("][").map(|extent| extent.parse::<u64>().ok());
        let count = extents.reduce(|all, extent| all?.checked_mul(extent?)).flatten().filter(|count| *count > 0);
        if let Some(count) = count.filter(|count| bytes.is_multiple_of(*count)) {
            note(element.trim(), bytes / count);
        }
    }
    sizes
}

/// Syntax trees, indexed by `TreeId`. The list only grows, so references to its elements stay valid.
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
            places: RefCell::default(),
            calls: RefCell::default(),
            numbers: RefCell::default(),
            names: RefCell::default(),
            type_sizes: OnceCell::new(),
            trees: TreeList::default(),
            empty: Rc::new(SyntaxTree::plain(MappedText::default())),
        }
    }

    /// The tree for an ID; an empty tree if the ID is not of this unit.
    pub fn tree(&self, id: TreeId) -> &Rc<SyntaxTree> {
        self.trees.get(id).unwrap_or(&self.empty)
    }

    /// The size of a type by its text, from any variable of the unit with that type, or with arrays of it.
    pub fn bytes_of_type(&self, type_text: &str) -> Option<u64> {
        let sizes = self.type_sizes.get_or_init(|| sizes_of_types(self.front_end));
        sizes.get(type_text.trim_start_matches("const ").trim()).copied().flatten()
    }

    /// The calls of a function, by its mangled name, in the statements at an offset. Each access in code that was inlined there asks.
    pub fn calls_at(&self, id: TreeId, offset: usize, function: &Arc<str>) -> Rc<CallsAt> {
        let key = (id, offset, Arc::clone(function));
        if let Some(known) = self.calls.borrow().get(&key) {
            return Rc::clone(known);
        }
        let name = demangle(function);
        let base = base_name(&name).to_string();
        let found = Rc::new(CallsAt { calls: self.tree(id).calls_at(offset, &name), base });
        self.calls.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    /// The ID of the unit's own text, if that text is PTX.
    pub fn ptx_id(&self) -> Option<TreeId> {
        let UnitCode::Ptx { text, .. } = &self.unit.unit.code else { return None };
        let number = || Some(self.trees.push(SyntaxTree::plain(text.clone())));
        *self.numbers.borrow_mut().entry(PathBuf::new()).or_insert_with(number)
    }

    /// The unit's own text, if that is PTX.
    pub fn ptx(&self) -> Option<&Rc<SyntaxTree>> {
        self.ptx_id().map(|id| self.tree(id))
    }

    /// The ID of a file's tree, by the file's name in a line table; `None` for files that are not the user's. Different
    /// names of one file (`a/../b`) give the same tree.
    pub fn id(&self, name: &str) -> Option<TreeId> {
        if let Some(known) = self.names.borrow().get(name) {
            return *known;
        }
        let number = self.id_of_path(name);
        self.names.borrow_mut().insert(name.to_string(), number);
        number
    }

    fn id_of_path(&self, name: &str) -> Option<TreeId> {
        let path = normalize(&self.folder.join(name));
        if let Some(known) = self.numbers.borrow().get(&path) {
            return *known;
        }
        let number = self.open(&path).map(|tree| self.trees.push(tree));
        self.numbers.borrow_mut().insert(path, number);
        number
    }

    /// The tree and line for a line of a line table. `#line` directives renumber lines and may name files that do not
    /// exist. `None` if several lines match, unless one of them alone is of a function: the others have no machine code.
    pub fn locate(&self, name: &str, line: u32) -> Option<(TreeId, u32)> {
        let named = self.id(name);
        if let Some(id) = named.filter(|id| self.tree(*id).line_marks.is_empty()) {
            return Some((id, line));
        }
        let id = named.or_else(|| self.own_id())?;
        let path = normalize(&self.folder.join(name));
        let tree = self.tree(id);
        let found = tree.line_marks.physical(&path, named.is_some(), line);
        let mut of_function = found.iter().filter(|line| found.len() == 1 || tree.is_in_function(**line));
        let only = *of_function.next()?;
        of_function.next().is_none().then_some((id, only))
    }

    /// The ID of the unit's own text.
    fn own_id(&self) -> Option<TreeId> {
        match &self.unit.unit.code {
            UnitCode::CudaFile { file, .. } => self.id(&file.path.to_string_lossy()),
            UnitCode::CudaText { options, .. } => {
                self.id(options.program_name.as_deref().unwrap_or(lmem_unit::STRING_NAME))
            }
            UnitCode::Ptx { .. } | UnitCode::Machine(_) => None,
        }
    }

    /// The user's files of the unit, as far as they are known to be compiled.
    pub fn all(&self) -> Vec<TreeId> {
        let files = self.unit.files.files.iter().map(|file| file.path.to_string_lossy());
        self.own_id().into_iter().chain(files.filter_map(|path| self.id(&path))).collect()
    }

    /// The tree of a file, by the file's name in a line table.
    pub fn get(&self, name: &str) -> Option<&Rc<SyntaxTree>> {
        self.id(name).map(|id| self.tree(id))
    }

    fn open(&self, path: &Path) -> Option<SyntaxTree> {
        let of_file = |file: &Arc<SourceFile>| {
            let beside = self.unit.beside(file);
            SyntaxTree::new(MappedText::from_file(file), self.unit.file(file)).with_beside(beside)
        };
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

/// The text with pragmas between a statement's head and its body blanked out. The grammar parses a pragma as a
/// statement, so the loop after it would not be the body of the loop before it.
fn without_pragmas_within_statements(text: &str) -> Cow<'_, str> {
    if !text.contains("pragma") {
        return Cow::Borrowed(text);
    }
    let mut parsed: Vec<u8> = Vec::new();
    let mut at = 0;
    let mut before = "";
    for token in each_token(text) {
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
    // Each byte is replaced by a blank, so no partial UTF-8 character is left.
    Cow::Owned(String::from_utf8(parsed).unwrap_or_else(|_| text.to_string()))
}

/// Whether a path is the program's own text: NVRTC makes the program's name absolute with its working folder.
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
    fn spans_are_found_again() {
        let rust = SourceFile::from_text("a.rs", r"int a;\nint a;");
        let mut text = MappedText::default();
        text.push("int a;", Span::new(&rust, 0..6));
        text.push("\n", Span::new(&rust, 6..8));
        text.push("int a;", Span::new(&rust, 8..14));
        let tree = SyntaxTree::plain(text);
        let at = |file: &Arc<SourceFile>, range: Range<usize>| tree.offset_of(&Span::new(file, range));
        // The second `a` has the same text as the first.
        assert_eq!((at(&rust, 4..5), at(&rust, 12..13)), (Some(4), Some(11)));
        // Nothing, a part with an escape, and another file with the same text.
        assert_eq!((at(&rust, 4..4), at(&rust, 5..9)), (None, None));
        assert_eq!(at(&SourceFile::from_text("b.rs", rust.text()), 4..5), None);
        let twice = SourceFile::from_text("c.cu", "int a;");
        let mut text = MappedText::default();
        text.push_generated("int b;");
        text.push("int a;", Span::new(&twice, 0..6));
        text.push("int a;", Span::new(&twice, 0..6));
        assert_eq!(SyntaxTree::plain(text).offset_of(&Span::new(&twice, 4..5)), Some(10));
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
