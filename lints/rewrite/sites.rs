//! Places of the source that an edit would change: declarations of variables and parameters, and heads of functions.

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::SourceView;
use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::tree::base_name;
use lmem_base::diagnostic::Edit;
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use lmem_frame::StackObject;
use lmem_unit::{CompiledUnit, MappedText};

/// A declaration of one variable or parameter.
pub struct DeclarationSite {
    view: Rc<SourceView>,
    /// The whole declaration.
    range: Range<usize>,
    /// Where the name starts.
    name: usize,
    /// Words before the type: `static`, `const`.
    pub qualifiers: Vec<String>,
    /// Declared in one statement with others.
    pub has_others: bool,
    /// A statement of a block: no part of a loop's header.
    pub is_statement: bool,
}

impl DeclarationSite {
    pub fn has(&self, qualifier: &str) -> bool {
        self.qualifiers.iter().any(|known| known == qualifier)
    }

    pub fn is_within_kernel(&self) -> bool {
        self.view.is_within_kernel(self.range.start)
    }

    /// Whether nothing else is chosen or written where the variable is `const`.
    pub fn may_be_const(&self) -> bool {
        self.has("const") || self.has("constexpr") || super::constness::may_be_const(&self.view, self.name)
    }

    /// Words before the declaration.
    pub fn prefix(&self, words: &str) -> Option<Edit> {
        self.view.insertion(self.range.start, words)
    }

    /// The declaration without a qualifier that stands in it once.
    pub fn without(&self, qualifier: &str) -> Option<Edit> {
        let node = self.view.root()?.named_descendant_for_byte_range(self.range.start, self.range.end)?;
        let mut found = words(&self.view, node, qualifier);
        let word = found.next().filter(|_| found.next().is_none())?;
        let rest = &self.view.text()[word.end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.view.replacement(word.start..word.end + blanks, "")
    }
}

/// Nodes below a node that are a word.
fn words<'v>(view: &'v SourceView, node: Node<'v>, word: &'v str) -> impl Iterator<Item = Range<usize>> + 'v {
    let is_word = move |node: &Node<'v>| view.slice(*node) == word;
    let words = node.descendants().filter(move |node| is_word(node) && !node.children().any(|child| is_word(&child)));
    words.map(|node| node.byte_range())
}

/// Texts that the accesses and escapes lie in, each once.
pub(super) fn views(object: &StackObject) -> Vec<&Rc<SourceView>> {
    let of_accesses = object.accesses.iter().flat_map(|access| &access.places);
    let places = of_accesses.chain(object.escapes.iter().flat_map(|escape| &escape.places));
    let mut views: Vec<&Rc<SourceView>> = Vec::new();
    for place in places {
        if !views.iter().any(|known| Rc::ptr_eq(known, &place.view)) {
            views.push(&place.view);
        }
    }
    views
}

/// The declaration whose name stands at a span.
pub fn declaration_at(object: &StackObject, name: &Span) -> Option<DeclarationSite> {
    let (view, offset) = located(object, name)?;
    declaration(view, offset)
}

/// The text that a span lies in, and where.
pub(super) fn located<'a>(object: &'a StackObject, name: &Span) -> Option<(&'a Rc<SourceView>, usize)> {
    views(object).into_iter().find_map(|view| Some((view, offset_of(view, name)?)))
}

/// Edits that let a function be inlined which is declared `__noinline__`; none where it calls itself, or its
/// definition is not in the user's files.
pub fn inline(object: &StackObject, function: &str) -> Vec<Edit> {
    let demangled = demangle(function);
    let name = base_name(&demangled);
    let edits = views(object).into_iter().map(|view| heads(view, name).unwrap_or_default());
    edits.flatten().collect()
}

/// Edits that let a function be inlined whose name stands at a span, by its file alone: none for kernel strings.
pub fn inline_named(unit: CompiledUnit<'_>, name: &Span) -> Vec<Edit> {
    let is_text = name.file.path.extension().is_some_and(|ending| ending == "rs");
    let view = (!is_text).then(|| SourceView::new(MappedText::from_file(&name.file), unit.file(&name.file)));
    view.and_then(|view| heads(&view, base_name(name.text()))).unwrap_or_default()
}

/// The offset of a span in a text.
pub(super) fn offset_of(view: &SourceView, span: &Span) -> Option<usize> {
    let name = span.text();
    let mut found = view.text().match_indices(name).map(|(offset, _)| offset).filter(|_| !name.is_empty());
    found.find(|offset| view.span(*offset..offset + name.len()).as_ref() == Some(span))
}

fn declaration(view: &Rc<SourceView>, offset: usize) -> Option<DeclarationSite> {
    let mut node = view.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
    while !matches!(node.kind(), Kind::Declaration | Kind::ParameterDeclaration) {
        node = node.parent()?;
    }
    let count = node.fields(Field::Declarator).count();
    let first = node.field(Field::Declarator)?.start_byte();
    let before = node.children().filter(|child| child.end_byte() <= first);
    let site = DeclarationSite {
        view: Rc::clone(view),
        range: node.byte_range(),
        name: offset,
        qualifiers: before.map(|child| view.slice(child).to_string()).collect(),
        has_others: count > 1,
        is_statement: node.parent().is_some_and(|parent| parent.kind() == Kind::CompoundStatement),
    };
    view.is_plain(node).then_some(site)
}

/// Definitions and declarations of a function in a text.
pub(super) fn functions_named<'v>(view: &'v SourceView, name: &str) -> Vec<Node<'v>> {
    let is_it = |node: Node<'_>| {
        matches!(node.kind(), Kind::FunctionDefinition | Kind::Declaration) && declares(view, node, name)
    };
    let outside = |node: Node<'_>, _: Node<'_>| node.kind() != Kind::FunctionDefinition && !is_it(node);
    let nodes = view.root().into_iter().flat_map(|root| root.descendants_through(outside));
    nodes.filter(|node| is_it(*node)).collect()
}

/// `__forceinline__` for `__noinline__` at all declarations of a function in a text; `None` where it calls itself.
pub(super) fn heads(view: &SourceView, name: &str) -> Option<Vec<Edit>> {
    const KEYWORD: &str = "__noinline__";
    let mut edits = Vec::new();
    for node in functions_named(view, name) {
        let body = node.field(Field::Body);
        let is_recursive = body.is_some_and(|body| {
            view.calls(body).iter().any(|(called, _)| base_name(called) == name) || calls_below(view, body, name)
        });
        if is_recursive || !view.is_plain(node) {
            return None;
        }
        let end = body.map_or(node.end_byte(), |body| body.start_byte());
        // The grammar does not know all of CUDA's words, so that the head is searched as text.
        let head = view.text().get(node.start_byte()..end)?;
        let words = head.match_indices(KEYWORD).map(|(at, _)| node.start_byte() + at);
        edits.extend(words.filter_map(|at| view.neutral_replacement(at..at + KEYWORD.len(), "__forceinline__")));
    }
    Some(edits)
}

/// `calls` leaves out blocks within blocks.
fn calls_below(view: &SourceView, body: Node<'_>, name: &str) -> bool {
    let mut called = body.descendants().filter_map(Call::of).filter_map(Call::function);
    called.any(|called| base_name(view.slice(called)) == name)
}

/// Whether a definition or declaration is that of a function of a name.
fn declares(view: &SourceView, node: Node<'_>, name: &str) -> bool {
    let mut declarator = node.field(Field::Declarator);
    let mut is_function = false;
    while let Some(current) = declarator {
        is_function |= current.kind() == Kind::FunctionDeclarator;
        let Some(inner) = current.field(Field::Declarator) else {
            return is_function && base_name(view.slice(current)) == name;
        };
        declarator = Some(inner);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    fn view(text: &str) -> Rc<SourceView> {
        Rc::new(SourceView::example("a.cu", text))
    }

    #[test]
    fn functions_lose_their_noinline() {
        let text = "__device__ __noinline__ void f(float* p);\n\
            template <int N> __noinline__ __device__ void f(float* p) { p[0] = N; }\n\
            __device__ __noinline__ void g(float* p) { f<3>(p); }\n\
            __device__ __noinline__ int r(int n) { if (n) { return r(n - 1); } return 0; }\n";
        let view = view(text);
        let edits = heads(&view, "f").unwrap();
        let edited = apply(text, &edits.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(edited.matches("__forceinline__").count(), 2);
        assert!(edited.contains("__device__ __noinline__ void g"), "{edited}");
        assert_eq!(heads(&view, "r"), None);
        assert_eq!(heads(&view, "nothing"), Some(Vec::new()));
    }

    #[test]
    fn declarations_know_their_words() {
        let text =
            "__global__ void k(const S s, T t) { const float table[2] = {1, 2}; int a = 1, b; volatile float v; }";
        let view = view(text);
        let site = |needle: &str| declaration(&view, text.find(needle).unwrap()).unwrap();
        assert!(site("table").has("const") && site("table").is_statement && !site("table").has_others);
        assert!(site("a = 1").has_others);
        assert!(site("s, T").has("const") && !site("t)").has("const"));
        let edit = site("v; }").without("volatile").unwrap();
        assert!(apply(text, &[&edit]).unwrap().ends_with("b; float v; }"));
        let edit = site("t)").prefix("const __grid_constant__ ").unwrap();
        assert!(apply(text, &[&edit]).unwrap().contains("S s, const __grid_constant__ T t)"));
    }
}
