//! All calls of a function, where no file but its own can have others.

use std::cell::RefCell;
use std::collections::HashMap;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Member, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::{Declaration, last_name};

use super::classes::{class_around, has_bases};
use super::linkage::is_called_elsewhere;
use super::purity::is_pure_call;
use super::sites::{functions_named, head_of};
use super::variables::variable;

/// The calls of a function or a method that the text mentions only in its definition, its declarations and calls. A function in a
/// header may be called by other files, and a kernel launched.
fn all_calls<'t>(tree: &'t SyntaxTree, function: Node<'t>) -> Option<Vec<Call<'t>>> {
    let known = tree.kept(|_| Known::default());
    let calls = known.0.borrow().get(&function.id()).cloned();
    let calls = calls.unwrap_or_else(|| {
        let found = find_calls(tree, function).map(|calls| calls.iter().map(|call| call.node().id()).collect());
        known.0.borrow_mut().insert(function.id(), found.clone());
        found
    });
    calls.map(|calls: Vec<usize>| calls.into_iter().filter_map(|id| Call::of(tree.node(id)?)).collect())
}

/// The arguments for a parameter at all calls of its function.
pub fn arguments_at_all_calls<'t>(
    tree: &'t SyntaxTree,
    function: Node<'t>,
    parameter: &Declaration,
) -> Option<Vec<Node<'t>>> {
    let list = head_of(function.field(Field::Declarator)?)?.field(Field::Parameters)?;
    let position = list.parts().position(|it| it.byte_range().contains(&parameter.range.0))?;
    all_calls(tree, function)?.iter().map(|call| call.arguments().nth(position)).collect()
}

/// The calls of functions by the numbers of their nodes, as each element of a parameter asks for them.
#[derive(Default)]
struct Known(RefCell<HashMap<usize, Option<Vec<usize>>>>);

fn find_calls<'t>(tree: &'t SyntaxTree, function: Node<'t>) -> Option<Vec<Call<'t>>> {
    let body = function.field(Field::Body)?;
    if tree.is_within_kernel(body.start_byte()) || is_called_elsewhere(tree, function) {
        return None;
    }
    let file = tree.span(function.byte_range())?.file;
    if !file.path.extension().is_some_and(|ending| ending == "cu" || ending == "rs") {
        return None;
    }
    let head = head_of(function.field(Field::Declarator)?)?;
    let name = tree.slice(head.field(Field::Declarator)?);
    let calls = match name.split_whitespace().collect::<String>().as_str() {
        "operator()" => {
            calls_of_objects(tree, class_around(function)?, head.field(Field::Parameters)?.parts().count())?
        }
        _ => calls_by_name(tree, last_name(name))?,
    };
    Some(calls).filter(|calls| !calls.is_empty())
}

fn calls_by_name<'t>(tree: &'t SyntaxTree, name: &str) -> Option<Vec<Call<'t>>> {
    let mut calls = Vec::new();
    for at in mentions(tree, name)? {
        if at.parent().is_some_and(|parent| parent.kind() == Kind::FunctionDeclarator) {
            continue;
        }
        let is_part = |it: &Node<'t>| {
            matches!(it.kind(), Kind::QualifiedIdentifier | Kind::FieldExpression | Kind::TemplateFunction)
        };
        let called = at.parent().filter(is_part).unwrap_or(at);
        calls.push(called.parent().and_then(Call::of).filter(|call| call.function() == Some(called))?);
    }
    Some(calls)
}

/// The names in the code that are a word; `None` where a macro, or lines that this build does not compile, may have others.
fn mentions<'t>(tree: &'t SyntaxTree, word: &str) -> Option<Vec<Node<'t>>> {
    // Macros of other files, and names that are pasted together, are seen in what was compiled.
    let compiled = tree.kept(CompiledWords::of);
    let all = compiled.0.as_ref()?.get(word).copied().unwrap_or(0);
    let is_shown = tree.shows_all_uses(word) && all <= occurrences(tree.text(), word).count() && !pastes(tree);
    let named = tree.root().map(|root| tree.named(root, word).collect::<Vec<_>>()).filter(|_| is_shown)?;
    named.iter().all(|name| !tree.differs_in_builds(&name.byte_range())).then_some(named)
}

/// How often each word stands in what a text was compiled as, comments included; `None` if that is not known.
struct CompiledWords(Option<HashMap<String, usize>>);

impl CompiledWords {
    fn of(tree: &SyntaxTree) -> Self {
        let compiled = tree.compiled().compiled(tree.text(), 0..tree.text().len());
        Self(compiled.map(|compiled| {
            let mut counts: HashMap<String, usize> = HashMap::new();
            identifiers(&compiled).for_each(|word| *counts.entry(word.to_string()).or_default() += 1);
            counts
        }))
    }
}

/// Whether a macro of the text makes names of parts.
fn pastes(tree: &SyntaxTree) -> bool {
    let mut bodies = tree.nodes_of(&[Kind::PreprocArg]);
    bodies.any(|body| tree.slice(body).contains("##"))
}

/// The calls that may be of the `operator()` of a class; `None` where code that the text does not show may call it.
fn calls_of_objects<'t>(tree: &'t SyntaxTree, class: Node<'t>, count: usize) -> Option<Vec<Call<'t>>> {
    let name = tree.slice(class.field(Field::Name)?);
    let may_be_it = |object: Node<'t>| {
        variable(tree, object).is_some_and(|own| may_be_of(tree, class, name, &own.type_text, object))
    };
    let is_given_away = |call: &Call<'t>| {
        let is_known = call.function().is_some_and(|called| {
            let word = last_name(tree.slice(called));
            !functions_named(tree, word).is_empty() && !tree.is_declared_beside(word)
        });
        let mentions = |argument: Node<'t>| {
            argument.descendants().any(|it| match it.kind() {
                Kind::Identifier | Kind::TypeIdentifier => tree.slice(it) == name || may_be_it(it) && !is_asked(it),
                _ => false,
            })
        };
        !is_known && !is_pure_call(tree, call.node()) && call.arguments().any(mentions)
    };
    let calls: Vec<Call<'t>> = tree.nodes_of(&[Kind::CallExpression]).filter_map(Call::of).collect();
    // A macro may call the object that it names.
    let declared = tree.nodes_of(&[Kind::FunctionDefinition]).flat_map(|function| {
        let at = |own: &Declaration| tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1);
        let all = tree.declarations(function);
        let objects =
            all.iter().filter(|own| at(own).is_some_and(|at| may_be_of(tree, class, name, &own.type_text, at)));
        objects.map(|own| own.name.clone()).collect::<Vec<_>>()
    });
    let mut names: Vec<String> = declared.collect();
    names.sort();
    names.dedup();
    if !names.iter().all(|name| mentions(tree, name).is_some()) {
        return None;
    }
    // What a template does with the class is seen in a function of the text alone.
    let is_argument = |named: Node<'t>| {
        let list = named.ancestors().skip(1).find(|it| tree.slice(*it).starts_with('<'));
        let of_function = list.and_then(|list| list.parent()).filter(|it| it.kind() == Kind::TemplateFunction);
        let is_known = of_function.and_then(|it| it.field(Field::Name)).is_some_and(|it| {
            !functions_named(tree, tree.slice(it)).is_empty() && !tree.is_declared_beside(tree.slice(it))
        });
        list.is_some() && !is_known
    };
    let named = tree.nodes_of(&[Kind::TypeIdentifier]).filter(|it| tree.slice(*it) == name);
    if calls.iter().any(is_given_away) || named.into_iter().any(is_argument) {
        return None;
    }
    let may_call_it = |call: &Call<'t>| {
        call.arguments().count() == count
            && call.function().is_some_and(|called| match called.kind() {
                Kind::Identifier => match variable(tree, called) {
                    Some(own) => may_be_of(tree, class, name, &own.type_text, called),
                    None => is_member(tree, tree.slice(called)),
                },
                Kind::FieldExpression => {
                    let member = Member::of(called).and_then(Member::name).map_or("", |it| tree.slice(it));
                    member.starts_with("operator") || is_member(tree, member)
                }
                Kind::QualifiedIdentifier | Kind::TemplateFunction | Kind::PrimitiveType => false,
                _ => true,
            })
    };
    Some(calls.into_iter().filter(may_call_it).collect())
}

/// `c.n` and `c(x)`: the object itself is not handed on.
fn is_asked(name: Node<'_>) -> bool {
    name.parent().is_some_and(|parent| match parent.kind() {
        Kind::FieldExpression => parent.field(Field::Argument) == Some(name),
        Kind::CallExpression => parent.field(Field::Function) == Some(name),
        _ => false,
    })
}

/// Whether a variable of a type may be an object of a class: by its name, as a template's argument, or as what a text has under
/// another name.
fn may_be_of(tree: &SyntaxTree, class: Node<'_>, name: &str, type_text: &str, at: Node<'_>) -> bool {
    let words = type_text.trim_start_matches("const ").trim_end_matches(['&', '*', ' ']);
    let own = last_name(words.split('<').next().unwrap_or(words).trim());
    let is_scalar = || cuda_syntax::types::size_of(own).is_some() && !tree.is_template_parameter(own, at.start_byte());
    let is_other_class = || {
        let classes = tree.nodes_of(&[Kind::StructSpecifier, Kind::ClassSpecifier, Kind::UnionSpecifier]);
        let mut named = classes.filter(|it| it.field(Field::Name).is_some_and(|it| tree.slice(it) == own)).peekable();
        named.peek().is_some() && named.all(|it| it != class && !has_bases(it))
    };
    own == name || !(is_scalar() || is_other_class())
}

/// Whether a class has a member of a name that is no method.
fn is_member(tree: &SyntaxTree, name: &str) -> bool {
    tree.nodes_of(&[Kind::FieldDeclaration])
        .flat_map(|it| it.fields(Field::Declarator))
        .any(|it| it.kind() != Kind::FunctionDeclarator && tree.slice(it.declared_name()) == name)
}
