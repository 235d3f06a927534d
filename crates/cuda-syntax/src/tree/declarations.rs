//! Local variables and parameters: where they are declared, of which type and size.

use std::ops::Range;
use std::rc::Rc;

use crate::ast::{Field, Kind, Node};
use crate::tree::functions::enclosing_function;
use crate::tree::syntax_tree::SyntaxTree;
use crate::tree::volatile::Volatility;
use crate::types;

/// Size of a pointer on all GPUs that CUDA still knows.
pub(super) const POINTER_BYTES: u64 = 8;

/// How a variable is declared, as far as it matters where it can live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclarationKind {
    Array,
    /// Anything of a type that is no number: a struct, a vector, a fragment.
    Aggregate,
    Scalar,
    /// A pointer or reference: its own value is small, what it points to is another variable.
    Alias,
}

impl DeclarationKind {
    /// Whether a variable of this kind may be written in parts.
    pub fn has_parts(self) -> bool {
        matches!(self, Self::Array | Self::Aggregate)
    }
}

/// A local variable or parameter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Declaration {
    pub name: String,
    /// The identifier where it is declared.
    pub range: (usize, usize),
    pub kind: DeclarationKind,
    /// As the source writes it: `float[W][4]`.
    pub type_text: String,
    /// Its size, where all extents are constants that can be read off the source.
    pub bytes: Option<u64>,
    pub is_parameter: bool,
    /// Whether the variable itself is `volatile`; what it may point to does not count.
    pub volatility: Option<Volatility>,
    /// Members of a structure, where the front end tells: path, type and bytes.
    pub members: Vec<(String, String, u64)>,
    /// Where the name may be used.
    pub(crate) scope: (usize, usize),
    /// What it is initialised with; an alias is made from that.
    pub initializer: Option<(usize, usize)>,
}

impl Declaration {
    /// A variable that the text does not show, as one that a macro declares.
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

    /// Whether the name may be used at an offset of its text.
    pub fn is_in_scope(&self, offset: usize) -> bool {
        (self.scope.0..self.scope.1).contains(&offset)
    }
}

impl SyntaxTree {
    /// The variable whose initialiser stands at an offset.
    pub fn initialized_at(&self, offset: usize) -> Option<Declaration> {
        let function = enclosing_function(self.node_at(offset)?)?;
        let holds = |declaration: &Declaration| {
            declaration.initializer.is_some_and(|(start, end)| (start..end).contains(&offset))
        };
        // Of nested functions the innermost declares it.
        self.declarations(function).into_iter().filter(holds).max_by_key(|declaration| declaration.range.0)
    }

    /// The declaration of a name where it is used.
    pub fn declaration_of(&self, identifier: &Range<usize>) -> Option<Declaration> {
        let node = self.root()?.named_descendant_for_byte_range(identifier.start, identifier.end)?;
        let declarations = self.declarations(enclosing_function(node)?);
        resolve(&declarations, self.slice(node), identifier.start).cloned()
    }

    /// Whether the function around an offset declares a name where the tree shows it.
    pub fn is_declared(&self, offset: usize, name: &str) -> bool {
        let node = self.node_at(offset);
        let function = node.and_then(enclosing_function);
        function.is_some_and(|function| {
            self.unsized_declarations(function).iter().any(|declaration| declaration.name == name)
        })
    }

    /// All local variables and parameters of a function.
    pub fn declarations(&self, function: Node<'_>) -> Vec<Declaration> {
        let key = (function.start_byte(), function.end_byte());
        if let Some(known) = self.memory.declarations.borrow().get(&key) {
            return known.to_vec();
        }
        let found = self.read_declarations(function, true);
        self.memory.declarations.borrow_mut().insert(key, found.as_slice().into());
        found
    }

    /// The same without the sizes of arrays, which are constant expressions: whoever evaluates one asks for what its names
    /// mean.
    pub(super) fn unsized_declarations(&self, function: Node<'_>) -> Rc<[Declaration]> {
        if let Some(known) = self.memory.unsized_declarations.borrow().get(&function.start_byte()) {
            return Rc::clone(known);
        }
        let found: Rc<[Declaration]> = self.read_declarations(function, false).into();
        self.memory.unsized_declarations.borrow_mut().insert(function.start_byte(), Rc::clone(&found));
        found
    }

    fn read_declarations(&self, function: Node<'_>, with_sizes: bool) -> Vec<Declaration> {
        let mut declarations = Vec::new();
        for node in function.descendants() {
            match node.kind() {
                Kind::Declaration | Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration => {
                    self.declared(node, function, with_sizes, &mut declarations)
                }
                Kind::ForRangeLoop => self.declared(node, function, with_sizes, &mut declarations),
                _ => {}
            }
        }
        declarations
    }

    fn declared(&self, node: Node<'_>, function: Node<'_>, with_sizes: bool, declarations: &mut Vec<Declaration>) {
        let Some(type_node) = node.field(Field::Type) else { return };
        let is_shared = node
            .children()
            .any(|child| matches!(self.slice(child), "__shared__" | "__constant__" | "static" | "extern"));
        if is_shared {
            return;
        }
        let scope = scope_of(node, function);
        let is_volatile = self.has_volatile(node);
        let is_parameter = node.is_parameter();
        for declarator in node.fields(Field::Declarator) {
            let right = node.field(Field::Right).filter(|_| node.kind() == Kind::ForRangeLoop);
            let declaration = self.declarator(declarator, type_node, scope, right, is_parameter, with_sizes);
            declarations.extend(declaration.map(|declaration| self.qualified(declaration, declarator, is_volatile)));
        }
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
                Kind::PointerDeclarator | Kind::ReferenceDeclarator => is_alias = true,
                Kind::ParenthesizedDeclarator | Kind::AttributedDeclarator => {}
                // Functions, bindings and what else may stand here.
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
            // What a lambda captures is a structure.
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

    /// The product of all extents; `[]` counts what the initialiser lists.
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

/// `float[W][4]`; a single extent that is known is shown as its number.
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

pub fn resolve<'d>(declarations: &'d [Declaration], name: &str, at: usize) -> Option<&'d Declaration> {
    declarations
        .iter()
        .filter(|declaration| declaration.name == name && declaration.range.0 <= at)
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
