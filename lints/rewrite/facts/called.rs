//! The function that a call calls, where the text shows it: a lambda in a local variable, a function, a method, an `operator()` or
//! `operator[]`.

use std::collections::HashMap;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Member, Node, Subscript};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{Declaration, DeclarationKind, enclosing_function, last_name};

use super::calls::arguments_at_all_calls;
use super::classes::{class_around, is_defined_outside, is_head_of};
use super::getter::class_named;
use super::number::is_number_type;
use super::purity::is_object;
use super::sites::{functions_named, head_of};
use super::taken::has_operators;
use super::variables::variable;

/// A function, a method or a lambda with a body in the text.
#[derive(Clone)]
pub struct Called<'t> {
    tree: &'t SyntaxTree,
    /// The declarator with the parameters.
    head: Node<'t>,
    pub body: Node<'t>,
    /// The type that a function returns; that of a lambda stands behind its parameters, or nowhere.
    type_node: Option<Node<'t>>,
    /// Whether what is returned is written as a reference.
    is_reference: bool,
    /// The object of a method: `m` of `m.at(i)` and of `m(i)`.
    pub object: Option<Node<'t>>,
    /// The class of a method.
    pub class: Option<Node<'t>>,
    pub is_lambda: bool,
}

/// What a call calls; `None` where it may be another function, or one that the preprocessor changes.
pub fn called<'t>(tree: &'t SyntaxTree, call: Call<'t>) -> Option<Called<'t>> {
    let function = call.function()?;
    // What a macro makes of the call is not known; one in an argument is an expression.
    let is_verbatim = tree.compiled().is_verbatim(&function.byte_range());
    let found = match function.kind() {
        Kind::Identifier => match variable(tree, function) {
            Some(own) => {
                Called::of_lambda(tree, own.range.0).or_else(|| Called::of_object(tree, function, "operator()"))
            }
            None => Called::of_function(tree, function),
        },
        Kind::FieldExpression => Called::of_method(tree, function),
        _ => None,
    };
    let count = call.arguments().count();
    found.filter(|found| is_verbatim && found.is_plain() && found.parameters().count() == count)
}

/// The `operator[]` that gives an element of an object, as of `row[i]`.
pub fn called_by_subscript<'t>(tree: &'t SyntaxTree, element: Subscript<'t>) -> Option<Called<'t>> {
    let object = element.base().filter(|base| base.kind() == Kind::Identifier && has_operators(tree))?;
    let is_verbatim = tree.compiled().is_verbatim(&object.byte_range());
    let found = Called::of_object(tree, object, "operator[]").filter(|_| is_verbatim);
    found.filter(|found| found.is_plain() && found.parameters().count() == 1)
}

impl<'t> Called<'t> {
    /// The lambda that a variable is initialized with: `auto load = [&](int i) { … };`.
    fn of_lambda(tree: &'t SyntaxTree, name: usize) -> Option<Self> {
        let name = tree.root()?.named_descendant_for_byte_range(name, name + 1)?;
        let declared = name.parent().filter(|it| it.kind() == Kind::InitDeclarator)?;
        let is_auto = declared.parent()?.field(Field::Type)?.kind() == Kind::PlaceholderTypeSpecifier;
        let is_own = declared.field(Field::Declarator) == Some(name) && is_auto;
        let lambda = declared.field(Field::Value).filter(|it| is_own && it.kind() == Kind::LambdaExpression)?;
        Some(Self {
            tree,
            head: lambda.field(Field::Declarator)?,
            body: lambda.field(Field::Body)?,
            type_node: None,
            is_reference: false,
            object: None,
            class: None,
            is_lambda: true,
        })
    }

    fn of_definition(tree: &'t SyntaxTree, definition: Node<'t>, object: Option<Node<'t>>) -> Option<Self> {
        let declarator = definition.field(Field::Declarator)?;
        let is_reference = declarator.kind() == Kind::ReferenceDeclarator;
        let head = head_of(declarator)?;
        Some(Self {
            tree,
            head,
            body: definition.field(Field::Body).filter(|it| it.kind() == Kind::CompoundStatement)?,
            type_node: definition.field(Field::Type),
            is_reference,
            object,
            class: class_around(definition),
            is_lambda: false,
        })
    }

    fn of_function(tree: &'t SyntaxTree, function: Node<'t>) -> Option<Self> {
        let name = tree.slice(function);
        let definitions = functions_named(tree, name);
        let [only] = definitions.as_slice() else { return None };
        let is_fit =
            !tree.is_declared_beside(name) && class_around(*only).is_none() && !is_object(tree, function, name);
        is_fit.then(|| Self::of_definition(tree, *only, None))?
    }

    /// `m.at(i)`, of the only class with such a method; both of its versions, `const` and not, have one body.
    fn of_method(tree: &'t SyntaxTree, function: Node<'t>) -> Option<Self> {
        let member = Member::of(function).filter(|member| member.is_of_object())?;
        let (object, name) = (member.object()?, tree.slice(member.name()?));
        let definitions = functions_named(tree, name);
        let is_whole = definitions.iter().all(|it| {
            let head = it.field(Field::Declarator).and_then(head_of).and_then(|it| it.field(Field::Declarator));
            head.is_some_and(|head| tree.slice(head) == name)
        });
        // A method that is only declared in its class may be defined anywhere.
        let declared = tree.kept(Declared::of).0.get(name).copied().unwrap_or_default();
        let is_alone = is_whole && declared == definitions.len() && !tree.is_declared_beside(name);
        Self::of_versions(tree, &definitions, object).filter(|found| is_alone && found.class.is_some())
    }

    /// `m(i, j)` or `m[i]` of an object whose class has one such operator, or two that differ by `const`.
    fn of_object(tree: &'t SyntaxTree, object: Node<'t>, operator: &str) -> Option<Self> {
        let own = variable(tree, object)?;
        let class = class_of(tree, &own).or_else(|| class_at_all_calls(tree, object, &own))?;
        let body = class.field(Field::Body)?;
        let is_call = |head: Node<'_>| is_head_of(tree, head, operator);
        let is_operator = |node: &Node<'_>| node.field(Field::Declarator).and_then(head_of).is_some_and(is_call);
        let named = |kind: Kind| body.descendants().filter(move |it| it.kind() == kind);
        let definitions: Vec<Node<'t>> = named(Kind::FunctionDefinition).filter(is_operator).collect();
        // One that is only declared here may be defined anywhere.
        let all = named(Kind::FunctionDeclarator).filter(|it| is_call(*it));
        let is_alone = all.count() == definitions.len() && !is_defined_outside(tree, class, operator);
        let is_object = matches!(own.kind, DeclarationKind::Aggregate | DeclarationKind::Alias);
        is_object.then(|| Self::of_versions(tree, &definitions, object).filter(|_| is_alone))?
    }

    /// The first of the versions of a method that do the same.
    fn of_versions(tree: &'t SyntaxTree, definitions: &[Node<'t>], object: Node<'t>) -> Option<Self> {
        let found = |definition: &Node<'t>| Self::of_definition(tree, *definition, Some(object));
        let first = definitions.first().and_then(found)?;
        let is_alike = |other: &Node<'t>| {
            found(other).is_some_and(|other| {
                let text =
                    |it: &Self| [it.head.field(Field::Parameters).map(|it| tree.slice(it)), Some(tree.slice(it.body))];
                other.class == first.class && text(&other) == text(&first)
            })
        };
        // The method of a class that is derived elsewhere may be called instead.
        let is_virtual = definitions.iter().any(|it| {
            let head = it.field(Field::Body).and_then(|body| tree.text().get(it.start_byte()..body.start_byte()));
            head.is_none_or(|head| identifiers(head).any(|word| matches!(word, "virtual" | "override" | "final")))
        });
        (!is_virtual && definitions.iter().all(is_alike)).then_some(first)
    }

    /// Whether the text is what is compiled, in each build.
    fn is_plain(&self) -> bool {
        let whole = self.head.start_byte()..self.body.end_byte();
        self.tree.is_plain(self.body) && !self.tree.differs_in_builds(&whole)
    }

    /// The declarations of the parameters.
    pub fn parameters(&self) -> impl Iterator<Item = Node<'t>> {
        self.head.field(Field::Parameters).into_iter().flat_map(Node::parts)
    }

    /// The name of the parameter at a position, if it is a number that the function gets by value.
    pub fn number(&self, position: usize) -> Option<Node<'t>> {
        let parameter = self.parameters().nth(position).filter(|it| it.kind() == Kind::ParameterDeclaration)?;
        let name = parameter.field(Field::Declarator).filter(|it| it.kind() == Kind::Identifier)?;
        let type_node = parameter.field(Field::Type)?;
        let is_number =
            type_node.kind() == Kind::PlaceholderTypeSpecifier || is_number_type(self.tree, self.tree.slice(type_node));
        is_number.then_some(name)
    }

    /// Whether it is a function whose result is an `int`.
    pub fn returns_int(&self) -> bool {
        let is_int = self.type_node.is_some_and(|it| matches!(self.tree.slice(it), "int" | "int32_t" | "std::int32_t"));
        !self.is_lambda && !self.is_reference && is_int
    }

    /// Whether it returns a number, not a reference to one.
    pub fn returns_number(&self) -> bool {
        let tree = self.tree;
        match self.is_lambda {
            // Without a type, a lambda returns a copy.
            true => tree.text().get(self.head.byte_range()).is_some_and(|head| match head.split_once("->") {
                Some((_, returned)) => is_number_type(tree, returned.trim()),
                None => true,
            }),
            false => !self.is_reference && self.type_node.is_some_and(|it| is_number_type(tree, tree.slice(it))),
        }
    }
}

/// The class of a variable, by the name of its type.
fn class_of<'t>(tree: &'t SyntaxTree, own: &Declaration) -> Option<Node<'t>> {
    let type_text = own.type_text.trim_start_matches("const ").trim_end_matches(['&', '*', ' ']);
    class_named(tree, type_text.split('<').next()?)
}

/// The class that a template's parameter is of at all calls: `const F &f` for `heun(chain, y)`.
fn class_at_all_calls<'t>(tree: &'t SyntaxTree, object: Node<'t>, own: &Declaration) -> Option<Node<'t>> {
    let type_text = own.type_text.trim_start_matches("const ").trim_end_matches(['&', '*', ' ']);
    let function = enclosing_function(object)?;
    let is_open = own.is_parameter && tree.is_template_parameter(type_text, object.start_byte());
    let arguments = is_open.then(|| arguments_at_all_calls(tree, function, own))??;
    let given = |argument: &Node<'t>| {
        let name = Some(*argument).filter(|it| it.kind() == Kind::Identifier)?;
        class_of(tree, &variable(tree, name)?)
    };
    let classes: Vec<Node<'t>> = arguments.iter().map(given).collect::<Option<_>>()?;
    let (first, others) = classes.split_first()?;
    others.iter().all(|it| it == first).then_some(*first)
}

/// How many declarators of functions a text has for each name.
struct Declared(HashMap<String, usize>);

impl Declared {
    fn of(tree: &SyntaxTree) -> Self {
        let mut found: HashMap<String, usize> = HashMap::new();
        for name in tree.nodes_of(&[Kind::FunctionDeclarator]).filter_map(|it| it.field(Field::Declarator)) {
            *found.entry(last_name(tree.slice(name)).to_string()).or_default() += 1;
        }
        Self(found)
    }
}
