//! Local variables and parameters: declaration, type and size.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::rc::Rc;

use crate::ast::{Field, Kind, Node};
use crate::identifiers::is_identifier_character;
use crate::tree::calls::last_name;
use crate::tree::construction::is_argument;
use crate::tree::functions::enclosing_function;
use crate::tree::syntax_tree::SyntaxTree;
use crate::tree::volatile::Volatility;
use crate::types;

/// Pointer size on all GPUs that CUDA supports.
pub(super) const POINTER_BYTES: u64 = 8;

/// Elements of what functions give, `f(&x)[1]`, that are told from references to arrays in a function.
/// Declarators around the names of a structured binding.
const MOST_LAYERS: usize = 6;
const MOST_CALLS: usize = 64;

/// The kind of a variable, as far as it decides whether registers can hold the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclarationKind {
    Array,
    /// Any other type that is not a scalar: a struct, a vector, a fragment.
    Aggregate,
    Scalar,
    /// A pointer or reference: small itself; its pointee is another variable.
    Alias,
}

impl DeclarationKind {
    /// Whether a variable of this kind may be written element by element or member by member.
    pub fn has_parts(self) -> bool {
        matches!(self, Self::Array | Self::Aggregate)
    }
}

/// A local variable or parameter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Declaration {
    pub name: String,
    /// The identifier in the declaration.
    pub range: (usize, usize),
    pub kind: DeclarationKind,
    /// The type as written in the source: `float[W][4]`.
    pub type_text: String,
    /// The size in bytes, if all extents are constants visible in the source.
    pub bytes: Option<u64>,
    pub is_parameter: bool,
    /// Whether the variable itself is `volatile`; the pointee does not count.
    pub volatility: Option<Volatility>,
    /// Members of a structure, if the front end reports them: path, type and size in bytes.
    pub members: Vec<(String, String, u64)>,
    /// The range where the name is in scope.
    pub(crate) scope: (usize, usize),
    /// The initializer; for an alias it names the target.
    pub initializer: Option<(usize, usize)>,
}

impl Declaration {
    /// A variable whose declaration is not visible in the text, for example because a macro declares it.
    pub fn hidden(name: &str, range: Range<usize>) -> Self {
        Self {
            name: name.to_string(),
            range: (range.start, range.end),
            kind: DeclarationKind::Aggregate,
            type_text: String::new(),
            bytes: None,
            is_parameter: false,
            volatility: None,
            members: Vec::new(),
            scope: (range.start, usize::MAX),
            initializer: None,
        }
    }

    /// Whether the name is in scope at an offset.
    pub fn is_in_scope(&self, offset: usize) -> bool {
        (self.scope.0..self.scope.1).contains(&offset)
    }

    /// Whether the block around its declaration ends before an offset.
    pub fn ends_before(&self, offset: usize) -> bool {
        self.scope.1 <= offset
    }
}

/// The local variables and parameters of a function, in source order.
#[derive(Debug, Default)]
pub struct Declarations {
    all: Vec<Declaration>,
    /// Positions in the list.
    names: HashMap<String, Vec<usize>>,
}

impl Declarations {
    fn push(&mut self, declaration: Declaration) {
        self.names.entry(declaration.name.clone()).or_default().push(self.all.len());
        self.all.push(declaration);
    }

    /// Those of a name, in source order.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Declaration> {
        self.names.get(name).into_iter().flatten().filter_map(|at| self.all.get(*at))
    }
}

impl Deref for Declarations {
    type Target = [Declaration];

    fn deref(&self) -> &[Declaration] {
        &self.all
    }
}

impl SyntaxTree {
    /// The variable whose initializer contains an offset.
    pub fn initialized_at(&self, offset: usize) -> Option<Declaration> {
        let function = enclosing_function(self.node_at(offset)?)?;
        let holds = |declaration: &Declaration| {
            declaration.initializer.is_some_and(|(start, end)| (start..end).contains(&offset))
        };
        // For nested functions, the innermost one has the declaration.
        self.declarations(function).iter().filter(|one| holds(one)).max_by_key(|one| one.range.0).cloned()
    }

    /// The declaration of an identifier at its use.
    pub fn declaration_of(&self, identifier: &Range<usize>) -> Option<Declaration> {
        let node = self.root()?.named_descendant_for_byte_range(identifier.start, identifier.end)?;
        let declarations = self.declarations(enclosing_function(node)?);
        resolve(&declarations, self.slice(node), identifier.start).cloned()
    }

    /// Whether the function around an offset visibly declares a name.
    pub fn is_declared(&self, offset: usize, name: &str) -> bool {
        let node = self.node_at(offset);
        let function = node.and_then(enclosing_function);
        function.is_some_and(|function| self.unsized_declarations(function).named(name).next().is_some())
    }

    /// All local variables and parameters of a function.
    pub fn declarations(&self, function: Node<'_>) -> Rc<Declarations> {
        let key = (function.start_byte(), function.end_byte());
        if let Some(known) = self.memory.declarations.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.read_declarations(function, true));
        self.memory.declarations.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    /// All local variables and parameters, without array sizes. Sizes are constant expressions, and evaluating one
    /// looks up declarations: asking for sizes here would recurse.
    pub(super) fn unsized_declarations(&self, function: Node<'_>) -> Rc<Declarations> {
        if let Some(known) = self.memory.unsized_declarations.borrow().get(&function.start_byte()) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.read_declarations(function, false));
        self.memory.unsized_declarations.borrow_mut().insert(function.start_byte(), Rc::clone(&found));
        found
    }

    fn read_declarations(&self, function: Node<'_>, with_sizes: bool) -> Declarations {
        let mut declarations = Declarations::default();
        for node in function.descendants() {
            match node.kind() {
                Kind::Declaration
                | Kind::ParameterDeclaration
                | Kind::OptionalParameterDeclaration
                | Kind::VariadicParameterDeclaration
                | Kind::ForRangeLoop => self.declared(node, function, with_sizes, &mut declarations),
                Kind::LambdaExpression => self.captured(node, &mut declarations),
                Kind::CallExpression => {
                    let found = self.declared_like_a_call(node, function, &declarations);
                    found.into_iter().for_each(|declaration| declarations.push(declaration));
                }
                _ => {}
            }
        }
        self.add_array_references(function, &mut declarations);
        declarations
    }

    /// Whether a name is one of a function or a variable, not of a type.
    fn is_called(&self, name: &str, at: usize, known: &Declarations) -> bool {
        let is_function = |node: Node<'_>| last_name(self.slice(node.declared_name())) == name;
        resolve(known, name, at).is_some() || self.nodes_of(&[Kind::FunctionDeclarator]).any(is_function)
    }

    /// References to arrays, `(&rows)[8]`, that the grammar takes for something else: behind other declarators, in a condition, with
    /// `&&`. As an expression, that is an element of an array of one variable, which nobody writes.
    fn add_array_references(&self, function: Node<'_>, declarations: &mut Declarations) {
        let range = function.byte_range();
        let text = self.text().get(range.clone()).unwrap_or("");
        let mut asked = 0;
        for (at, _) in text.match_indices("(&") {
            let inner = text[at + 2..].trim_start_matches('&').trim_start();
            let start = text.len() - inner.len();
            let length = inner.find(|c: char| !is_identifier_character(c)).unwrap_or(inner.len());
            let is_array =
                inner[length..].trim_start().strip_prefix(')').is_some_and(|rest| rest.trim_start().starts_with('['));
            let name = range.start + start..range.start + start + length;
            let is_new = || declarations.named(&inner[..length]).all(|known| known.range != (name.start, name.end));
            let node = self.root().and_then(|root| root.named_descendant_for_byte_range(name.start, name.end));
            let is_name = node.is_some_and(|node| matches!(node.kind(), Kind::Identifier | Kind::TypeIdentifier));
            let before = text[..at].trim_end();
            let called = before.trim_end_matches(is_identifier_character).len();
            if length == 0 || !is_array || !is_name || !is_new() {
                continue;
            }
            asked += 1;
            let word = &before[called..];
            // Behind a type or another declarator; `reinterpret_cast<T *>(&rows)[0]` is an expression.
            let is_declarator = match before.chars().last() {
                Some('>') => !ends_with_cast(before),
                Some(',') => true,
                Some(last) => is_identifier_character(last) && word != "return",
                None => false,
            };
            let is_call = || !word.is_empty() && self.is_called(word, range.start + at, declarations);
            if is_declarator && (asked > MOST_CALLS || !is_call()) {
                let scope = node.map_or((name.start, range.end), |node| scope_of(node, function));
                declarations.push(Declaration {
                    kind: DeclarationKind::Alias,
                    type_text: "*".to_string(),
                    scope: (name.start, scope.1),
                    ..Declaration::hidden(&inner[..length], name.clone())
                });
            }
        }
    }

    fn declared(&self, node: Node<'_>, function: Node<'_>, with_sizes: bool, declarations: &mut Declarations) {
        let Some(type_node) = node.field(Field::Type) else { return };
        let is_shared = node
            .children()
            .any(|child| matches!(self.slice(child), "__shared__" | "__constant__" | "static" | "extern"));
        if is_shared || self.is_statements(type_node) {
            return;
        }
        let scope = scope_of(node, function);
        let is_volatile = self.has_volatile(node);
        let is_parameter = node.is_parameter();
        for declarator in node.fields(Field::Declarator) {
            self.bound(declarator, scope, declarations);
            let right = node.field(Field::Right).filter(|_| node.kind() == Kind::ForRangeLoop);
            if declarator.kind() == Kind::FunctionDeclarator && !self.is_construction(declarator, declarations) {
                continue;
            }
            let declaration = self.declarator(declarator, type_node, scope, right, is_parameter, with_sizes);
            if let Some(declaration) = declaration {
                declarations.push(self.qualified(declaration, declarator, is_volatile));
            }
        }
    }

    /// The names of `auto [first, second] = pair;`, which may be references to anything.
    fn bound(&self, declarator: Node<'_>, scope: (usize, usize), declarations: &mut Declarations) {
        let is_list = |it: &Node<'_>| self.slice(*it).starts_with('[') && self.slice(*it).ends_with(']');
        let list = declarator.descendants().take(MOST_LAYERS).find(is_list);
        // An initializer, or an extent, is no part of the names.
        let before = list.and_then(|list| self.text().get(declarator.start_byte()..list.start_byte()));
        let first = list.filter(|_| before.is_some_and(|before| before.trim_matches(['&', ' ']).is_empty()));
        for name in first.into_iter().flat_map(Node::named_children).filter(|it| it.kind() == Kind::Identifier) {
            declarations.push(Declaration {
                kind: DeclarationKind::Alias,
                type_text: "*".to_string(),
                scope: (name.start_byte(), scope.1),
                ..Declaration::hidden(self.slice(name), name.byte_range())
            });
        }
    }

    /// The names that a lambda gives to what it captures: `[a = in, &b = other]`.
    fn captured(&self, lambda: Node<'_>, declarations: &mut Declarations) {
        let Some(list) = lambda.named_children().next().filter(|it| self.slice(*it).starts_with('[')) else { return };
        let start = list.start_byte();
        for (at, _) in self.slice(list).match_indices('=') {
            let before = self.slice(list)[..at].trim_end();
            let name = before.trim_end_matches(is_identifier_character).len();
            let is_named = before[..name].trim_end().ends_with(['[', ',', '&', '.']) && name < before.len();
            if is_named {
                let range = start + name..start + before.len();
                declarations.push(Declaration {
                    kind: DeclarationKind::Alias,
                    type_text: "*".to_string(),
                    scope: (range.start, lambda.end_byte()),
                    ..Declaration::hidden(&before[name..], range.clone())
                });
            }
        }
    }

    /// `Row (&rows)[8] = others;`, a reference to an array, which the grammar takes for an assignment to an element of what a function
    /// `Row` gives. A name that the text has as a function or a variable is none of a type.
    fn declared_like_a_call(&self, call: Node<'_>, function: Node<'_>, known: &Declarations) -> Option<Declaration> {
        let (called, list) = (call.field(Field::Function)?, call.field(Field::Arguments)?);
        let mut arguments = list.named_children();
        let pointer = arguments.next().filter(|_| arguments.next().is_none())?;
        let name = pointer.field(Field::Argument).filter(|_| pointer.kind() == Kind::PointerExpression)?;
        let mut whole = call;
        while let Some(around) = whole.parent().filter(|it| it.kind() == Kind::SubscriptExpression) {
            whole = around;
        }
        let value =
            whole.parent().filter(|it| it.kind() == Kind::AssignmentExpression && it.field(Field::Left) == Some(whole));
        let statement = value.unwrap_or(whole);
        let around = statement.parent()?;
        let is_statement = around.kind() == Kind::ExpressionStatement
            || around.kind() == Kind::ForStatement && around.field(Field::Initializer) == Some(statement);
        let is_type = match called.kind() {
            Kind::PrimitiveType => true,
            _ => !self.is_called(last_name(self.slice(called)), call.start_byte(), known),
        };
        let is_fit = is_statement && is_type && whole != call && name.kind() == Kind::Identifier;
        is_fit.then(|| Declaration {
            kind: DeclarationKind::Alias,
            type_text: format!("{}*", self.slice(called)),
            scope: (name.start_byte(), scope_of(around, function).1),
            initializer: value.and_then(|it| it.field(Field::Right)).map(|it| (it.start_byte(), it.end_byte())),
            ..Declaration::hidden(self.slice(name), name.byte_range())
        })
    }

    /// Whether a macro that stands like a type is statements: with `#define STEP { … }`, the text has `STEP` before `out[i] = x;`.
    fn is_statements(&self, type_node: Node<'_>) -> bool {
        let range = type_node.byte_range();
        let is_macro = !self.compiled().is_verbatim(&range);
        let compiled = self.compiled().compiled(self.text(), range).filter(|_| is_macro);
        compiled
            .is_some_and(|compiled| compiled.trim_end().ends_with([';', '}']) && !self.slice(type_node).ends_with('}'))
    }

    /// Whether a declarator declares a variable with arguments. The grammar takes `Stack stack(memory, DEPTH);` for a
    /// function with parameters of the types `memory` and `DEPTH`. One that `known` shows to be a variable is enough:
    /// its name hides every type's.
    fn is_construction(&self, declarator: Node<'_>, known: &Declarations) -> bool {
        let mut words = declarator.descendants().filter(|node| is_argument(*node));
        words.any(|word| resolve(known, self.slice(word), word.start_byte()).is_some())
    }

    fn declarator(
        &self,
        declarator: Node<'_>,
        type_node: Node<'_>,
        scope: (usize, usize),
        right: Option<Node<'_>>,
        is_parameter: bool,
        with_sizes: bool,
    ) -> Option<Declaration> {
        let mut extents = Vec::new();
        let mut is_alias = false;
        let mut has_pointers = false;
        let mut initializer = right;
        let mut node = declarator;
        while node.kind() != Kind::Identifier {
            match node.kind() {
                Kind::InitDeclarator => initializer = node.field(Field::Value),
                Kind::ArrayDeclarator => {
                    extents.insert(0, node.field(Field::Size).map(|size| self.slice(size).to_string()));
                    // `float* rows[4]` is an array; `float (*rows)[4]` is a pointer.
                    has_pointers = std::mem::take(&mut is_alias);
                }
                // A pack stands for the arguments that are left.
                Kind::PointerDeclarator | Kind::ReferenceDeclarator | Kind::VariadicDeclarator => is_alias = true,
                Kind::ParenthesizedDeclarator | Kind::AttributedDeclarator => {}
                Kind::FunctionDeclarator if node == declarator => initializer = node.field(Field::Parameters),
                // Structured bindings and other declarators.
                _ => return None,
            }
            node = node.field(Field::Declarator).or_else(|| node.named_child(0))?;
        }
        let type_text = self.slice(type_node).split_whitespace().collect::<Vec<_>>().join(" ");
        let is_array = !extents.is_empty() && !is_parameter;
        let kind = match (is_array, is_alias || (is_parameter && !extents.is_empty())) {
            (true, false) => DeclarationKind::Array,
            (_, true) => DeclarationKind::Alias,
            (false, false) if types::is_scalar(&type_text) => DeclarationKind::Scalar,
            // A closure is a structure of its captures.
            (false, false) if initializer.is_some_and(|value| value.kind() == Kind::LambdaExpression) => {
                DeclarationKind::Aggregate
            }
            (false, false) if type_text == "auto" => DeclarationKind::Alias,
            (false, false) => DeclarationKind::Aggregate,
        };
        let count = with_sizes.then(|| self.element_count(&extents, initializer, node.start_byte())).flatten();
        let element = if has_pointers { Some(POINTER_BYTES) } else { types::size_of(&type_text) };
        Some(Declaration {
            name: self.slice(node).to_string(),
            range: (node.start_byte(), node.end_byte()),
            kind,
            type_text: array_type(&type_text, &extents, count, is_alias || has_pointers),
            bytes: count.zip(element).and_then(|(count, element)| count.checked_mul(element)).filter(|_| !is_alias),
            is_parameter,
            volatility: None,
            members: Vec::new(),
            scope,
            initializer: initializer.map(|node| (node.start_byte(), node.end_byte())),
        })
    }

    /// The product of all extents; for `[]` the initializer's elements are counted.
    fn element_count(&self, extents: &[Option<String>], initializer: Option<Node<'_>>, at: usize) -> Option<u64> {
        extents.iter().try_fold(1u64, |product, extent| {
            let count = match extent {
                Some(text) => u64::try_from(self.evaluate(text, at)?).ok()?,
                None => initializer
                    .filter(|list| list.kind() == Kind::InitializerList)
                    .map(|list| list.named_child_count() as u64)?,
            };
            product.checked_mul(count)
        })
    }
}

/// Characters of a type in a cast that are looked at.
const MOST_OF_TYPE: usize = 4096;

/// Whether a text ends with `reinterpret_cast<const T *>`, or another cast.
fn ends_with_cast(text: &str) -> bool {
    let mut depth = 0_usize;
    let open = text.char_indices().rev().take(MOST_OF_TYPE).find(|(_, character)| {
        match character {
            '>' => depth += 1,
            '<' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    open.is_some_and(|(at, _)| text[..at].trim_end().ends_with("_cast"))
}

/// `float[W][4]`; a single known extent is shown as its number.
fn array_type(element: &str, extents: &[Option<String>], count: Option<u64>, is_alias: bool) -> String {
    let mut text = element.to_string();
    if is_alias {
        text.push('*');
    }
    match (extents, count) {
        ([_], Some(count)) => text.push_str(&format!("[{count}]")),
        (extents, _) => {
            extents.iter().for_each(|extent| text.push_str(&format!("[{}]", extent.as_deref().unwrap_or(""))))
        }
    }
    text
}

/// The declaration that a name refers to at an offset.
pub fn resolve<'d>(declarations: &'d Declarations, name: &str, at: usize) -> Option<&'d Declaration> {
    declarations
        .named(name)
        .filter(|declaration| declaration.range.0 <= at)
        .filter(|declaration| declaration.scope.0 <= at && at < declaration.scope.1)
        .min_by_key(|declaration| (declaration.scope.1 - declaration.scope.0, std::cmp::Reverse(declaration.range.0)))
}

fn scope_of(node: Node<'_>, function: Node<'_>) -> (usize, usize) {
    let mut current = node;
    if current.kind() == Kind::ForRangeLoop {
        return (current.start_byte(), current.end_byte());
    }
    while let Some(parent) = current.parent() {
        if matches!(
            parent.kind(),
            Kind::CompoundStatement
                | Kind::ForStatement
                | Kind::IfStatement
                | Kind::WhileStatement
                | Kind::LambdaExpression
        ) {
            return (parent.start_byte(), parent.end_byte());
        }
        if parent == function {
            break;
        }
        current = parent;
    }
    (function.start_byte(), function.end_byte())
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;
    use crate::Example;

    #[test]
    fn statements_of_a_macro_are_no_type() {
        let text = "#define STEP { n++; }\n#define REAL float\n#define NEXT(x) x++;\n\
                    void k(int *out, int n) {\n  REAL a[4];\n  STEP\n  out[n] = 1;\n  NEXT(n)\n  out[n] = a[0];\n}\n";
        let tree = SyntaxTree::example("a.cu", text);
        let function = tree.node_at(text.find("out[n] = a").unwrap()).and_then(enclosing_function).unwrap();
        let names: Vec<String> = tree.declarations(function).iter().map(|one| one.name.clone()).collect();
        assert_eq!(names, ["out", "n", "a"]);
    }

    #[test]
    fn captures_and_bindings_are_declared() {
        let text = "void k(int *in, int n) {\n  int a[4], b = 1;\n  auto f = [n, a = in, &c = b](int d) { return a[d] + c; };\n\
                    {\n auto [a, e] = pair(in); const auto& [g, h](in); n = a; }\n  auto i = [=] { return b == 1; };\n  n = a[0];\n}\n";
        let tree = SyntaxTree::example("a.cu", text);
        let function = tree.node_at(text.find("n = a[0]").unwrap()).and_then(enclosing_function).unwrap();
        let all = tree.declarations(function);
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["in", "n", "a", "b", "f", "a", "c", "d", "a", "e", "g", "h", "i"]);
        let declared = |at: &str| {
            let at = text.find(at).unwrap();
            resolve(&all, "a", at + at_of_a(text, at)).map(|found| found.kind)
        };
        assert_eq!(declared("a[d]"), Some(DeclarationKind::Alias));
        assert_eq!(declared("n = a;"), Some(DeclarationKind::Alias));
        assert_eq!(declared("n = a[0]"), Some(DeclarationKind::Array));
    }

    fn at_of_a(text: &str, at: usize) -> usize {
        text[at..].find('a').unwrap()
    }

    #[test]
    fn a_variable_with_arguments_is_no_function() {
        let names = |statement: &str| {
            let example = Example::new(&format!("__global__ void k(float *memory, int n) {{\n{statement}\n}}\n"));
            let trees = example.trees();
            let tree = trees.get(Example::NAME).unwrap();
            let function = super::super::functions::enclosing_function(tree.node_at(45).unwrap()).unwrap();
            let declarations = tree.declarations(function);
            let names = declarations.iter().map(|declaration| declaration.name.as_str());
            names.skip(2).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("Stack<Item, DEPTH, THREADS> stack(memory, n);"), "stack");
        assert_eq!(names("Stack stack(memory, n);"), "stack");
        assert_eq!(names("float (&mats)[8] = other;"), "mats");
        assert_eq!(names("Stack (&mats)[8] = other;"), "mats");
        assert_eq!(names("Stack (*rows)[8][2]; k(&memory)[2] = 1; memory(&n)[1] = 0;"), "rows");
        assert_eq!(names("for (a::Stack (&mats)[8] = other; n; --n) {}"), "mats");
        assert!(names("Stack* x = memory, (&mats)[8] = other;").ends_with("mats"));
        assert_eq!(names("Stack (&&mats)[8] = static_cast<Stack (&&)[8]>(other);"), "mats");
        assert_eq!(names("Stack (&mats)[8](other);"), "mats");
        assert_eq!(names("if (Stack (&mats)[8] = other; n) {}"), "mats");
        assert_eq!(names("a::Stack<int, 8> (&mats)[8](other);"), "mats");
        assert_eq!(names("memory[0] = reinterpret_cast<const Pair<float, 2> *>(&n)[1] + (&n)[0]; return (&n)[0];"), "");
        assert_eq!(names("Stack stack(memory, DEPTH);"), "stack");
        assert_eq!(names("{ float Item[2]; } float weigh(Item, Item);"), "Item");
        assert_eq!(names("float weigh(Item, Item);"), "");
        assert_eq!(names("float weigh();"), "");
    }

    #[test]
    fn what_is_volatile_is_a_variable_of_its_own() {
        let kinds = |statement: &str| {
            let example = Example::new(&format!("__global__ void k(float *memory, int n) {{\n{statement}\n}}\n"));
            let trees = example.trees();
            let tree = trees.get(Example::NAME).unwrap();
            let function = enclosing_function(tree.node_at(45).unwrap()).unwrap();
            let declarations = tree.declarations(function);
            declarations.get(2).map(|declaration| (declaration.kind, declaration.volatility.clone())).unwrap()
        };
        assert_eq!(kinds("auto early = memory[n];"), (DeclarationKind::Alias, None));
        assert_eq!(kinds("volatile auto early = memory[n];"), (DeclarationKind::Scalar, Some(Volatility::Value)));
        assert_eq!(kinds("volatile auto *early = memory + n;"), (DeclarationKind::Alias, None));
    }

    #[test]
    fn arguments_of_a_declaration_are_uses() {
        let text =
            "__global__ void k(float *in, int n) {\n  float row[8];\n  Span view(row, n);\n  float weigh(Item);\n}\n";
        let example = Example::new(text);
        let trees = example.trees();
        let tree = trees.get(Example::NAME).unwrap();
        let region = tree.region(text.find("Span").unwrap()).unwrap();
        let found = tree.mentions(region);
        let found = found.iter().map(|it| (it.declaration.name.as_str(), it.is_read, it.is_written, it.is_passed));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [("view", false, true, false), ("row", true, true, true), ("n", true, true, true)]
        );
        assert!(tree.mentions(tree.region(text.find("float weigh").unwrap()).unwrap()).is_empty());
    }

    #[test]
    fn declarations_know_type_and_size() {
        let tree = tree();
        let region = tree.region(tree.offset(6, 3).unwrap()).unwrap();
        let found: Vec<_> =
            tree.mentions(region).iter().cloned().map(|m| (m.declaration.type_text, m.declaration.bytes)).collect();
        assert_eq!(found, [("float[32]".to_string(), Some(128)), ("float[2][3]".to_string(), Some(24))]);
        let region = tree.region(tree.offset(5, 3).unwrap()).unwrap();
        assert_eq!(tree.mentions(region)[0].declaration.bytes, None);
        assert_eq!(tree.mentions(region)[0].declaration.type_text, "float[W]");
    }
}
