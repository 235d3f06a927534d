//! Source positions for edits: declarations of variables and parameters, and function heads.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::base_name;
use lmem_base::diagnostic::Edit;
use lmem_base::source::Span;
use lmem_frame::StackObject;

/// The declaration of a variable or parameter.
pub struct DeclarationSite {
    tree: Rc<SyntaxTree>,
    /// The whole declaration.
    range: Range<usize>,
    /// Offset of the name.
    name: usize,
    /// Specifiers before the type: `static`, `const`.
    pub qualifiers: Vec<String>,
    /// Whether the statement also declares other variables.
    pub has_others: bool,
    /// Whether the declaration is a statement of a block, not a part of a loop header.
    pub is_statement: bool,
}

impl DeclarationSite {
    pub fn has(&self, qualifier: &str) -> bool {
        self.qualifiers.iter().any(|known| known == qualifier)
    }

    pub fn is_within_kernel(&self) -> bool {
        self.tree.is_within_kernel(self.range.start)
    }

    /// Whether the variable may be declared `const` without changing the program.
    pub fn may_be_const(&self) -> bool {
        self.has("const") || self.has("constexpr") || super::constness::may_be_const(&self.tree, self.name)
    }

    /// Inserts words before the declaration.
    pub fn prefix(&self, words: &str) -> Option<Edit> {
        self.tree.insertion(self.range.start, words)
    }

    /// Removes a qualifier that occurs once in the declaration.
    /// Whether the declaration has a word.
    pub fn mentions(&self, word: &str) -> bool {
        let node =
            self.tree.root().and_then(|root| root.named_descendant_for_byte_range(self.range.start, self.range.end));
        node.is_some_and(|node| words(&self.tree, node, word).next().is_some())
    }

    pub fn without(&self, qualifier: &str) -> Option<Edit> {
        let node = self.tree.root()?.named_descendant_for_byte_range(self.range.start, self.range.end)?;
        let mut found = words(&self.tree, node, qualifier);
        let word = found.next().filter(|_| found.next().is_none())?;
        let rest = &self.tree.text()[word.end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.tree.replacement(word.start..word.end + blanks, "")
    }
}

/// Removes the declaration of a single name, with its line.
pub fn without_declaration(tree: &SyntaxTree, (start, end): (usize, usize)) -> Option<Edit> {
    let mut node = tree.root()?.named_descendant_for_byte_range(start, end)?;
    while node.kind() != Kind::Declaration {
        node = node.parent()?;
    }
    let is_alone = node.fields(Field::Declarator).count() == 1;
    tree.replacement(tree.whole_line(node.byte_range()), "").filter(|_| is_alone)
}

/// Nodes below a node with that spelling.
fn words<'v>(tree: &'v SyntaxTree, node: Node<'v>, word: &'v str) -> impl Iterator<Item = Range<usize>> + 'v {
    let is_word = move |node: &Node<'v>| tree.slice(*node) == word;
    let words = node.descendants().filter(move |node| is_word(node) && !node.children().any(|child| is_word(&child)));
    words.map(|node| node.byte_range())
}

/// The syntax trees of all accesses and escapes, without duplicates.
pub fn trees<'a>(object: &StackObject<'a>) -> Vec<&'a Rc<SyntaxTree>> {
    let of_accesses = object.accesses.iter().flat_map(|access| &access.places);
    let places = of_accesses.chain(object.escapes().iter().flat_map(|escape| &escape.places));
    let mut trees: Vec<&'a Rc<SyntaxTree>> = Vec::new();
    for place in places {
        if !trees.iter().any(|known| Rc::ptr_eq(known, object.tree(place))) {
            trees.push(object.tree(place));
        }
    }
    trees
}

/// The declaration whose name is at a span.
pub fn declaration_at(object: &StackObject, name: &Span) -> Option<DeclarationSite> {
    let (tree, offset) = located(object, name)?;
    declaration(tree, offset)
}

/// The tree and offset of a span.
pub fn located<'a>(object: &StackObject<'a>, name: &Span) -> Option<(&'a Rc<SyntaxTree>, usize)> {
    trees(object).into_iter().find_map(|tree| Some((tree, tree.offset_of(name)?)))
}

fn declaration(tree: &Rc<SyntaxTree>, offset: usize) -> Option<DeclarationSite> {
    let mut node = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
    while !matches!(node.kind(), Kind::Declaration | Kind::ParameterDeclaration) {
        node = node.parent()?;
    }
    let count = node.fields(Field::Declarator).count();
    let first = node.field(Field::Declarator)?.start_byte();
    let before = node.children().filter(|child| child.end_byte() <= first);
    let site = DeclarationSite {
        tree: Rc::clone(tree),
        range: node.byte_range(),
        name: offset,
        qualifiers: before.map(|child| tree.slice(child).to_string()).collect(),
        has_others: count > 1,
        is_statement: node.parent().is_some_and(|parent| parent.kind() == Kind::CompoundStatement),
    };
    tree.is_plain(node).then_some(site)
}

/// Definitions and declarations of a function in a text.
pub fn functions_named<'v>(tree: &'v SyntaxTree, name: &str) -> Vec<Node<'v>> {
    let known = tree.kept(Functions::of);
    known.0.get(name).into_iter().flatten().filter_map(|id| tree.node(*id)).collect()
}

/// The declarator with the name and the parameters of a function.
pub fn head_of(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut head = declarator;
    while head.kind() != Kind::FunctionDeclarator {
        head = head.field(Field::Declarator).or_else(|| head.named_child(0))?;
    }
    Some(head)
}

/// The definitions and declarations of all functions of a text, by name, as the numbers of their nodes.
struct Functions(HashMap<String, Vec<usize>>);

impl Functions {
    fn of(tree: &SyntaxTree) -> Self {
        let outside = |node: Node<'_>, _: Node<'_>| node.kind() != Kind::FunctionDefinition;
        let mut found: HashMap<String, Vec<usize>> = HashMap::new();
        for node in tree.root().into_iter().flat_map(|root| root.descendants_through(outside)) {
            let is_fit = matches!(node.kind(), Kind::FunctionDefinition | Kind::Declaration);
            if let Some(name) = function_declared(tree, node).filter(|_| is_fit) {
                found.entry(name.to_string()).or_default().push(node.id());
            }
        }
        Self(found)
    }
}

/// The name of the function that a definition or declaration is of.
pub fn function_declared<'t>(tree: &'t SyntaxTree, node: Node<'t>) -> Option<&'t str> {
    let mut declarator = node.field(Field::Declarator);
    let mut is_function = false;
    while let Some(current) = declarator {
        is_function |= current.kind() == Kind::FunctionDeclarator;
        // A reference has what it is to in no field.
        let is_reference = current.kind() == Kind::ReferenceDeclarator;
        let inner = current.field(Field::Declarator).or_else(|| current.parts().next().filter(|_| is_reference));
        let Some(inner) = inner else {
            return is_function.then(|| base_name(tree.slice(current)));
        };
        declarator = Some(inner);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    fn tree(text: &str) -> Rc<SyntaxTree> {
        Rc::new(SyntaxTree::example("a.cu", text))
    }

    #[test]
    fn declarations_know_their_words() {
        let text =
            "__global__ void k(const S s, T t) { const float table[2] = {1, 2}; int a = 1, b; volatile float v; }";
        let tree = tree(text);
        let site = |needle: &str| declaration(&tree, text.find(needle).unwrap()).unwrap();
        assert!(site("table").has("const") && site("table").is_statement && !site("table").has_others);
        assert!(site("a = 1").has_others);
        assert!(site("s, T").has("const") && !site("t)").has("const"));
        let edit = site("v; }").without("volatile").unwrap();
        assert!(apply(text, &[&edit]).unwrap().ends_with("b; float v; }"));
        let edit = site("t)").prefix("const __grid_constant__ ").unwrap();
        assert!(apply(text, &[&edit]).unwrap().contains("S s, const __grid_constant__ T t)"));
    }
}
