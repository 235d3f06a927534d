//! The declaration of a private variable, in a kernel or in a function inlined into one.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::enclosing_function;
use lmem_frame::StackObject;

use crate::rewrite::facts::sites::located;

/// What asks for the type of an expression, or for the memory that it lies in.
const QUESTIONS: [&str; 10] = [
    "decltype",
    "typeof",
    "__typeof__",
    "__typeof",
    "typeid",
    "__isLocal",
    "__isShared",
    "__isGlobal",
    "is_object_from",
    "is_address_from",
];

/// A thread-private variable of a kernel or of a `__device__` function.
pub struct PrivateVariable {
    pub tree: Rc<SyntaxTree>,
    /// Offset of the name in the declaration.
    pub offset: usize,
    /// Whether a kernel declares the variable, so that no other kernel is affected.
    pub is_of_kernel: bool,
}

/// The threads of a block, for the size of a shared array and a thread's index into it.
pub struct BlockThreads<'a> {
    /// The number of threads, as an expression.
    pub count: &'a str,
    /// The thread's index: `threadIdx.x`.
    pub own: &'a str,
}

/// The parts of a variable's declaration.
pub struct Declared<'t> {
    pub statement: Node<'t>,
    /// The declarator with its initializer.
    pub whole: Node<'t>,
    /// The declarator without its initializer: `*rows[4]`.
    pub declarator: Node<'t>,
    /// `rows[4]`
    pub array: Node<'t>,
    pub name: Node<'t>,
    pub extents: Vec<Node<'t>>,
    pub initializer: Option<Node<'t>>,
    pub is_of_pointers: bool,
}

impl Declared<'_> {
    /// The extent of a one-dimensional array, if it is a constant expression that has one value in all compilations.
    pub fn elements(&self, tree: &SyntaxTree) -> Option<i64> {
        let [extent] = self.extents.as_slice() else { return None };
        tree.settled_value_of(*extent)
    }
}

/// The declared extent of a one-dimensional array, if it is equal in all template instances.
pub fn declared_elements(object: &StackObject) -> Option<u64> {
    let (tree, offset) = located(object, &object.variable.as_ref()?.span)?;
    u64::try_from(declared(tree, offset)?.elements(tree)?).ok()
}

/// The private variable of a frame object.
pub fn private_variable(object: &StackObject) -> Option<PrivateVariable> {
    let variable = object.variable.as_ref()?;
    let (tree, offset) = located(object, &variable.span)?;
    PrivateVariable::at(tree, offset)
}

impl PrivateVariable {
    pub fn at(tree: &Rc<SyntaxTree>, offset: usize) -> Option<Self> {
        let is_fit = declared(tree, offset).is_some() || is_parameter(tree, offset);
        let is_of_kernel = tree.is_within_kernel(offset);
        (is_fit && (is_of_kernel || is_within_device_function(tree, offset))).then(|| Self {
            tree: Rc::clone(tree),
            offset,
            is_of_kernel,
        })
    }

    /// Whether an expression from the kernel's head has the same meaning at the variable's declaration.
    pub fn can_spell(&self, expression: &str) -> bool {
        let node = self.tree.node_at(self.offset);
        let Some(function) = node.and_then(enclosing_function) else { return false };
        let is_plain = |c: char| c.is_alphanumeric() || " _+-*/()".contains(c);
        let own = self.tree.declarations(function);
        let is_own = |word: &str| own.iter().any(|declaration| declaration.name == word);
        expression.chars().all(is_plain) && !identifiers(expression).any(is_own)
    }

    /// Whether a namespace-scope name before the kernel is unique and constant.
    pub fn is_known_constant(&self, name: &str) -> bool {
        let text = self.tree.text().get(..self.offset).unwrap_or("");
        self.tree.is_constant(name, self.offset) && self.can_spell(name) && is_at_file_level(&self.tree, text, name)
    }

    /// Whether a constant that is known by a name has a value where the variable is: a launch, or the head of a kernel, may mean another
    /// one by it.
    pub fn is_constant_of(&self, name: &str, value: u32) -> bool {
        self.is_known_constant(name) && self.tree.evaluate(name, self.offset) == Some(i64::from(value))
    }

    /// The template parameters of the kernel.
    pub fn template_parameters(&self) -> Vec<String> {
        self.tree.function_at(self.offset).map(|function| function.template_parameters).unwrap_or_default()
    }
}

fn is_parameter(tree: &SyntaxTree, offset: usize) -> bool {
    let name = tree.root().and_then(|root| root.named_descendant_for_byte_range(offset, offset + 1));
    name.and_then(|name| name.parent()).is_some_and(|parent| parent.kind() == Kind::ParameterDeclaration)
}

/// Whether a function is device-only and not a constant expression, so it may have shared memory.
fn is_within_device_function(tree: &SyntaxTree, offset: usize) -> bool {
    let node = tree.node_at(offset);
    let Some(function) = node.and_then(enclosing_function) else { return false };
    let body = function.field(Field::Body).map_or(function.end_byte(), |body| body.start_byte());
    let head = tree.text().get(function.start_byte()..body).unwrap_or("");
    let is_whole = !function.children().any(Node::is_error);
    is_whole && head.contains("__device__") && !head.contains("__host__") && !head.contains("constexpr")
}

/// The declaration of a variable, by the offset of its name, if it is a separate statement.
pub fn declared(tree: &SyntaxTree, offset: usize) -> Option<Declared<'_>> {
    let name = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
    let (mut node, mut array, mut declarator, mut initializer) = (name, name, name, None);
    let (mut extents, mut is_of_pointers) = (Vec::new(), false);
    let statement = loop {
        let parent = node.parent()?;
        match parent.kind() {
            Kind::ArrayDeclarator if !is_of_pointers => {
                extents.push(parent.field(Field::Size)?);
                (array, declarator) = (parent, parent);
            }
            Kind::PointerDeclarator if !extents.is_empty() => (is_of_pointers, declarator) = (true, parent),
            Kind::InitDeclarator => initializer = Some(parent.field(Field::Value)?),
            // `State state(a, b);` is parsed as a function declaration with parameters of types `a` and `b`.
            Kind::FunctionDeclarator if node == name => {
                initializer = Some(parent.field(Field::Parameters).filter(|list| is_of_names(*list))?);
                declarator = parent;
            }
            Kind::Declaration => break parent,
            _ => return None,
        }
        node = parent;
    };
    let is_expected = |child: Node<'_>| {
        let is_part = statement.field(Field::Type) == Some(child)
            || child.is_declarator()
            || matches!(child.kind(), Kind::Identifier | Kind::Comment)
            || matches!(child.token(), Some("," | ";"));
        is_part || (is_of_pointers && tree.slice(child) == "const")
    };
    // What asked for an alignment may rely on it.
    let is_fit = name.kind() == Kind::Identifier
        && !is_type_asked(tree, name)
        && !tree.has_attribute_at(&statement.byte_range())
        && statement.parent().is_some_and(|parent| parent.kind() == Kind::CompoundStatement)
        && statement.children().all(is_expected)
        && tree.is_plain(name);
    let declared = Declared { statement, whole: node, declarator, array, name, extents, initializer, is_of_pointers };
    is_fit.then_some(declared)
}

/// Whether the function that declares a name asks for its type: `std::extent<decltype(slot)>`. That of another array, of
/// a reference or of an integer is another one. What macros became is searched too.
pub fn is_type_asked(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let Some(function) = enclosing_function(name) else { return true };
    let asked = tree.kept(|_| AskedTypes::default());
    let known = asked.0.borrow().get(&function.id()).cloned();
    let words = known.unwrap_or_else(|| {
        let found = asked_words(tree, function).map(Rc::new);
        asked.0.borrow_mut().insert(function.id(), found.clone());
        found
    });
    words.is_none_or(|words| identifiers(tree.slice(name)).all(|part| words.contains(part)))
}

/// The words of such questions by the number of the function, as each variable asks for them.
#[derive(Default)]
struct AskedTypes(RefCell<HashMap<usize, Option<Rc<HashSet<String>>>>>);

/// `None` if it is not known what the function was compiled as.
fn asked_words(tree: &SyntaxTree, function: Node<'_>) -> Option<HashSet<String>> {
    let compiled = tree.compiled().compiled(tree.text(), function.byte_range())?;
    let mut words = HashSet::new();
    for question in QUESTIONS {
        for at in occurrences(&compiled, question) {
            let rest = &compiled[at + question.len()..];
            let mut depth = 0_i32;
            let end = rest.find(|c: char| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                c == ')' && depth == 0
            });
            words.extend(identifiers(&rest[..end.unwrap_or(rest.len())]).map(str::to_string));
        }
    }
    Some(words)
}

/// Whether a parameter list could be an argument list: it has only names.
fn is_of_names(list: Node<'_>) -> bool {
    list.named_children().all(|parameter| {
        let parts: Vec<Node<'_>> = parameter.children().collect();
        parameter.kind() == Kind::ParameterDeclaration
            && matches!(parts.as_slice(), [only] if only.kind() == Kind::TypeIdentifier)
    })
}

/// Whether a name is defined at namespace scope.
fn is_at_file_level(tree: &SyntaxTree, text: &str, name: &str) -> bool {
    let Some(root) = tree.root() else { return false };
    occurrences(text, name).any(|at| {
        let node = root.named_descendant_for_byte_range(at, at + name.len());
        node.is_some_and(|node| {
            let parent = node.parent().map(Node::kind);
            matches!(parent, Some(Kind::PreprocDef | Kind::InitDeclarator)) && enclosing_function(node).is_none()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_the_same_is_spelled() {
        let text = "#define B 64\nconstexpr int C = 2;\ntemplate <int R> __global__ void k() { int n = B; float w[4]; w[0] = 0; }\nconst int D = 1;";
        let tree = Rc::new(SyntaxTree::example("a.cu", text));
        let array = PrivateVariable::at(&tree, occurrences(text, "w").next().unwrap()).unwrap();
        assert!(
            array.can_spell("32 * R")
                && array.can_spell("größe")
                && !array.can_spell("n * 2")
                && !array.can_spell("f<2>::x")
        );
        let known = ["B", "C", "D", "R", "n"].map(|name| array.is_known_constant(name));
        assert_eq!(known, [true, true, false, false, false]);
    }
}
