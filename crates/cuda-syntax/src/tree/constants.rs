//! Values of constant expressions, as compiled: macros by their expansion, variables by C++ scope rules.
//!
//! A name has a value only if no other declaration can be meant. Names that only the compiler can resolve (members of
//! base classes, constants of other files) have none.

use std::collections::HashMap;

use crate::ast::{Field, Function, Kind, Node};
use lmem_unit::Expansion;

use crate::constant;
use crate::constant::integer::Value;
use crate::tree::declarations::resolve;
use crate::tree::functions::enclosing_function;
use crate::tree::syntax_tree::SyntaxTree;

/// Limit on nested names; it stops circular definitions.
const MAX_DEPTH: usize = 16;

/// Limit on enumerators before one without a value of its own.
const MOST_BEFORE: usize = 256;

/// A declaration at namespace or class scope, or an enumerator.
#[derive(Debug, Clone)]
pub struct OuterName {
    /// Offset of the name.
    offset: usize,
    /// The initializer of a constant; `None` for every other declaration.
    value: Option<(usize, usize)>,
    /// Of an enumerator: by how much it is above that value, or above zero if there is none.
    above: Option<i64>,
    /// The type as written.
    type_text: String,
    /// The range where the unqualified name is in scope.
    scope: (usize, usize),
}

impl OuterName {
    /// Whether the unqualified name is in scope at an offset, and declared before it.
    fn is_visible(&self, at: usize) -> bool {
        (self.scope.0..self.scope.1).contains(&at) && self.offset <= at
    }
}

impl SyntaxTree {
    /// The value of an expression in the text.
    pub fn value_of(&self, node: Node<'_>) -> Option<i64> {
        self.value_in(node.start_byte(), node.end_byte(), MAX_DEPTH)?.as_i64()
    }

    /// The value of an expression whose names are looked up at an offset.
    pub fn evaluate(&self, expression: &str, at: usize) -> Option<i64> {
        self.value_of_text(expression, at, MAX_DEPTH)?.as_i64()
    }

    /// Whether a name is a constant with a known value at an offset.
    pub fn is_constant(&self, name: &str, at: usize) -> bool {
        self.evaluate(name, at).is_some()
    }

    /// Whether a word is a number, a constant, or a parameter of an enclosing template.
    pub fn is_fixed(&self, word: &str, offset: usize) -> bool {
        let is_hidden = || self.compiled().expansions(self.text(), word).next().is_some();
        self.is_constant(word, offset) || (self.is_template_parameter(word, offset) && !is_hidden())
    }

    /// Whether a name is a parameter of an enclosing template.
    pub fn is_template_parameter(&self, word: &str, offset: usize) -> bool {
        let mut around = self.node_at(offset).into_iter().flat_map(Node::ancestors);
        around.any(|node| self.template_parameters(node).iter().any(|parameter| parameter == word))
    }

    /// Whether every name in an expression resolves to the same macro or declaration at two offsets.
    pub fn means_the_same(&self, expression: &str, one: usize, other: usize) -> bool {
        words_of(expression).all(|name| {
            let is_macro = self.compiled().expansions(self.text(), name).next().is_some();
            match is_macro {
                true => !self.is_redefined_between(name, one, other),
                false => {
                    self.declared_at(name, one) == self.declared_at(name, other)
                        && self.template_of(name, one) == self.template_of(name, other)
                        && !self.is_named_anew(name, other)
                }
            }
        })
    }

    /// The innermost template around an offset with a parameter of a name, as its own offset.
    fn template_of(&self, name: &str, at: usize) -> Option<usize> {
        let mut around = self.node_at(at).into_iter().flat_map(Node::ancestors);
        let is_it = |node: &Node<'_>| self.template_parameters(*node).iter().any(|parameter| parameter == name);
        around.find(is_it).map(|node| node.start_byte())
    }

    /// Whether a name is brought from elsewhere (`using small::SIZE;`), or a static variable of the function around an offset.
    fn is_named_anew(&self, name: &str, at: usize) -> bool {
        let is_used = |node: Node<'_>| node.ancestors().any(|it| it.kind() == Kind::UsingDeclaration);
        let is_static = |node: Node<'_>| {
            let declaration = node.enclosing(Kind::Declaration);
            declaration.is_some_and(|it| {
                let is_declared = it.fields(Field::Declarator).any(|declarator| declarator.declared_name() == node);
                is_declared && it.children().any(|child| matches!(self.slice(child), "static" | "extern"))
            })
        };
        let function = self.node_at(at).and_then(enclosing_function);
        self.root().is_some_and(|root| self.named(root, name).any(is_used))
            || function.is_some_and(|function| self.named(function, name).any(is_static))
    }

    /// An expression, spelled for another place: unchanged if its names mean the same there, else as its value; so is one with
    /// macros of several terms.
    pub fn spelled(&self, expression: Node<'_>, to: usize) -> Option<String> {
        let is_known = matches!(self.compiled(), lmem_unit::CompiledText::Known(_));
        let is_loose = is_known && !self.compiled().is_faithful(self.text(), &expression.byte_range());
        match !is_loose && self.means_the_same(self.slice(expression), expression.start_byte(), to) {
            true => Some(self.slice(expression).to_string()),
            false => self.settled_value_of(expression).map(|value| value.to_string()),
        }
    }

    /// Whether a directive between two offsets may redefine a macro.
    fn is_redefined_between(&self, name: &str, one: usize, other: usize) -> bool {
        let between = self.text().get(one.min(other)..one.max(other)).unwrap_or("");
        between.lines().map(str::trim_start).filter_map(|line| line.strip_prefix('#')).map(str::trim_start).any(
            |line| {
                let is_of_name = crate::identifiers::identifiers(line).any(|word| word == name);
                line.starts_with("include") || line.starts_with("pragma pop_macro") || is_of_name
            },
        )
    }

    /// The offsets of the declarations that a name may refer to at an offset; none if they are not in this text.
    fn declared_at(&self, name: &str, at: usize) -> Vec<usize> {
        let local = self.local_at(name, at).map(|declaration| declaration.range.0);
        let visible = self.outer_named(name).iter().filter(|found| found.is_visible(at));
        local.into_iter().chain(visible.map(|found| found.offset)).collect()
    }

    /// The declarations of a name outside of functions, and its enumerators.
    fn outer_named(&self, name: &str) -> &[OuterName] {
        self.memory.outer_names.get_or_init(|| self.outer_names()).get(name).map_or(&[], Vec::as_slice)
    }

    fn local_at(&self, name: &str, at: usize) -> Option<crate::tree::declarations::Declaration> {
        let node = self.node_at(at)?;
        resolve(&self.unsized_declarations(enclosing_function(node)?), name, at).cloned()
    }

    fn value_in(&self, start: usize, end: usize, depth: usize) -> Option<Value> {
        let own = self.text().get(start..end)?;
        let text = self.compiled().compiled(self.text(), start..end);
        // Without a compiled text for the expression, its number literals still have values.
        match text {
            Some(text) => self.value_of_text(unbraced(&text), start, depth),
            None => constant::evaluate(unbraced(own), &|_| None),
        }
    }

    fn value_of_text(&self, text: &str, at: usize, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        if let Some((scope, name)) = text.trim().split_once("::") {
            return self.value_of_member(scope.trim(), name.trim(), at, depth);
        }
        constant::evaluate(text, &|name| self.value_of_name(name, at, depth))
    }

    /// The value of `Config::BLOCK`, the only constant of its name in the text.
    fn value_of_member(&self, scope: &str, name: &str, at: usize, depth: usize) -> Option<Value> {
        let [only] = self.outer_named(name) else { return None };
        let body = self.root()?.named_descendant_for_byte_range(only.scope.0, only.scope.1)?;
        let around = body.parent().filter(|_| only.offset <= at)?;
        let is_it = around.field(Field::Name).is_some_and(|it| self.slice(it) == scope)
            && around.parent().is_none_or(|it| it.kind() != Kind::TemplateDeclaration);
        let is_known = matches!(self.compiled(), lmem_unit::CompiledText::Known(_));
        if is_it && is_known { self.value_of_outer(only, depth) } else { None }
    }

    /// The range of the initializer of the constant that a name is at an offset.
    pub(super) fn constant_initializer(&self, name: &str, at: usize) -> Option<(usize, usize)> {
        if let Some(declaration) = self.local_at(name, at) {
            let is_alone = !self.is_enumerator_of_function(name);
            return declaration.initializer.filter(|_| is_alone && self.is_constant_declaration(declaration.range.0));
        }
        self.outer_at(name, at).ok().filter(|found| found.above.is_none_or(|above| above == 0))?.value
    }

    fn value_of_name(&self, name: &str, at: usize, depth: usize) -> Option<Value> {
        if let Some(text) = self.macro_at(name, at) {
            return self.value_of_text(&text?, at, depth);
        }
        if !matches!(self.compiled(), lmem_unit::CompiledText::Known(_)) {
            return None;
        }
        if let Some(declaration) = self.local_at(name, at) {
            let (start, end) = self.constant_initializer(name, at)?;
            return typed(&declaration.type_text, self.value_in(start, end, depth)?);
        }
        if self.is_template_parameter(name, at) {
            return None;
        }
        self.value_of_outer(self.outer_at(name, at).ok()?, depth)
    }

    fn value_of_outer(&self, found: &OuterName, depth: usize) -> Option<Value> {
        let value = match (found.value, found.above) {
            (Some((start, end)), _) => typed(&found.type_text, self.value_in(start, end, depth)?)?,
            (None, Some(_)) => constant::evaluate("0", &|_| None)?,
            (None, None) => return None,
        };
        match found.above {
            Some(above) => constant::evaluate(&format!("x + {above}"), &|_| Some(value)),
            None => Some(value),
        }
    }

    /// The expansion of a macro at an offset; the inner option is `None` if its uses expanded to different texts.
    #[allow(clippy::option_option, reason = "a macro of unknown value is not a missing one")]
    fn macro_at(&self, name: &str, at: usize) -> Option<Option<String>> {
        let all: Vec<_> = self.compiled().expansions(self.text(), name).collect();
        if all.is_empty() {
            return None;
        }
        let function = self.node_at(at);
        let function = function.and_then(enclosing_function).map(|function| function.byte_range());
        let is_near = |start: usize| function.as_ref().is_none_or(|range| range.contains(&start));
        let near: Vec<_> = all.iter().filter(|found| is_near(found.start)).copied().collect();
        let candidates = if near.is_empty() { &all } else { &near };
        let first = candidates[0];
        let is_one = candidates.iter().all(|other| other.compiled == first.compiled);
        // The macro may be redefined between its first use and this offset.
        let is_steady = !self.is_redefined_between(name, first.start, at);
        let is_value = Expansion::of(name, &first.compiled) == Expansion::Value;
        Some((is_one && is_steady && is_value).then(|| first.compiled.clone()))
    }

    /// Whether a local declaration declares a constant.
    fn is_constant_declaration(&self, name: usize) -> bool {
        let Some(node) = self.root().and_then(|root| root.named_descendant_for_byte_range(name, name + 1)) else {
            return false;
        };
        node.enclosing(Kind::Declaration).is_some_and(|declaration| self.has_constant(declaration))
    }

    fn has_constant(&self, declaration: Node<'_>) -> bool {
        declaration.children().any(|child| matches!(self.slice(child), "const" | "constexpr"))
    }

    /// The only namespace-scope or class-scope declaration that a name can refer to at an offset.
    ///
    /// # Errors
    /// There is no such declaration, there are several, or the name may be a member of a base class.
    fn outer_at(&self, name: &str, at: usize) -> Result<&OuterName, ()> {
        let [only] = self.outer_named(name) else { return Err(()) };
        (only.is_visible(at) && !self.is_in_derived_class(at)).then_some(only).ok_or(())
    }

    /// Whether a name that is declared outside of functions and classes may be a member's at an offset: of a class around it or of one that
    /// its method is of, which may have bases, or of a class that the text does not show.
    pub(crate) fn may_be_hidden(&self, name: &str, at: usize) -> bool {
        let declares = |body: Node<'_>| {
            self.outer_named(name).iter().any(|found| found.scope == (body.start_byte(), body.end_byte()))
        };
        // `void State::step()`, defined outside its class, or namespace.
        let is_of_other = |node: Node<'_>| {
            let own = Function::of(node).and_then(Function::declarator).map(Node::declared_name);
            let qualified = own.filter(|it| it.kind() == Kind::QualifiedIdentifier).map(|it| self.slice(it));
            qualified.and_then(|it| it.rsplit_once("::")).is_some_and(|(scope, _)| {
                let scope = scope.rsplit("::").next().unwrap_or("").split('<').next().unwrap_or("").trim();
                let is_it = |body: &Node<'_>| {
                    let around = body.parent().and_then(|it| it.field(Field::Name));
                    around.is_some_and(|own| self.slice(own) == scope)
                };
                let bodies = self.nodes_of(&[Kind::DeclarationList, Kind::FieldDeclarationList]);
                let mut known = bodies.filter(is_it).peekable();
                known.peek().is_none() || known.any(|body| declares(body) || body.parent().is_some_and(has_bases))
            })
        };
        let mut around = self.node_at(at).into_iter().flat_map(Node::ancestors);
        around.any(|node| {
            node.kind() == Kind::FieldDeclarationList && declares(node) || has_bases(node) || is_of_other(node)
        })
    }

    /// Whether a function declares an enumerator of a name, which may hide a variable.
    fn is_enumerator_of_function(&self, name: &str) -> bool {
        let is_of_function = |found: &OuterName| {
            let node =
                self.root().and_then(|root| root.named_descendant_for_byte_range(found.offset, found.offset + 1));
            node.is_some_and(|node| node.enclosing(Kind::CompoundStatement).is_some())
        };
        self.outer_named(name).iter().any(is_of_function)
    }

    /// Whether an offset is in a member function of a class with bases: names there may be members of a base class.
    fn is_in_derived_class(&self, at: usize) -> bool {
        // `void State::step()`, defined outside its class.
        let is_member = |function: Function<'_>| {
            let node = function.node();
            let head = function.body().map_or(node.end_byte(), |body| body.start_byte());
            let head = self.text().get(node.start_byte()..head).unwrap_or("");
            head.split('(').next().is_some_and(|name| name.contains("::"))
        };
        let mut around = self.node_at(at).into_iter().flat_map(Node::ancestors);
        around.any(|node| has_bases(node) || Function::of(node).is_some_and(is_member))
    }

    /// All names declared outside functions. Class and enumeration names are included, because they may hide others.
    fn outer_names(&self) -> HashMap<String, Vec<OuterName>> {
        let mut names: HashMap<String, Vec<OuterName>> = HashMap::new();
        let mut open: Vec<(Node<'_>, (usize, usize))> = Vec::new();
        open.extend(self.root().map(|root| (root, (root.start_byte(), root.end_byte()))));
        while let Some((node, scope)) = open.pop() {
            let inner = match node.kind() {
                Kind::DeclarationList | Kind::FieldDeclarationList => (node.start_byte(), node.end_byte()),
                _ => scope,
            };
            let mut add = |name: Node<'_>, value: Option<Node<'_>>, type_text: &str| {
                names.entry(self.slice(name).to_string()).or_default().push(OuterName {
                    offset: name.start_byte(),
                    value: value.map(|value| (value.start_byte(), value.end_byte())),
                    above: None,
                    type_text: type_text.to_string(),
                    scope: inner,
                });
            };
            match node.kind() {
                // Declarations inside a function are local to it, and parameters are not constants.
                Kind::CompoundStatement | Kind::ParameterList => continue,
                Kind::Declaration | Kind::FieldDeclaration => {
                    let is_constant = self.has_constant(node);
                    let type_text = node.field(Field::Type).map_or("", |it| self.slice(it));
                    let declarators: Vec<Node<'_>> = node.fields(Field::Declarator).collect();
                    for (at, declarator) in declarators.iter().enumerate() {
                        // The values of members stand behind their declarators, each before the next one.
                        let end = declarators.get(at + 1).map_or(node.end_byte(), |next| next.start_byte());
                        let mut values = node.fields(Field::DefaultValue);
                        let of_member = values.find(|it| (declarator.end_byte()..end).contains(&it.start_byte()));
                        let value = declarator.field(Field::Value).or(of_member).filter(|_| is_constant);
                        let name = declarator.field(Field::Declarator).unwrap_or(*declarator);
                        let is_plain = matches!(name.kind(), Kind::Identifier | Kind::FieldIdentifier);
                        add(name, value.filter(|_| is_plain), type_text);
                    }
                }
                Kind::Enumerator => {
                    if let Some(name) = node.field(Field::Name) {
                        names.entry(self.slice(name).to_string()).or_default().push(self.enumerator(node, name, inner));
                    }
                }
                _ => {}
            }
            open.extend(node.children().map(|child| (child, inner)));
        }
        // Those that functions declare are in scope to the end of their block.
        for enumerator in self.nodes_of(&[Kind::Enumerator]) {
            let Some((name, block)) = enumerator.field(Field::Name).zip(enumerator.enclosing(Kind::CompoundStatement))
            else {
                continue;
            };
            let scope = (block.start_byte(), block.end_byte());
            names.entry(self.slice(name).to_string()).or_default().push(self.enumerator(enumerator, name, scope));
        }
        names
    }

    /// An enumerator, with its value if it is that of an unnamed enumeration: `enum { LEFT, RIGHT, SIZE = 8 };`. Operators may be
    /// overloaded for others, and some have a scope or a type of their own.
    fn enumerator(&self, enumerator: Node<'_>, name: Node<'_>, scope: (usize, usize)) -> OuterName {
        let enumeration = enumerator.enclosing(Kind::EnumSpecifier);
        let head = enumeration.zip(enumeration.and_then(|it| it.field(Field::Body)));
        let head = head.and_then(|(it, body)| self.text().get(it.start_byte()..body.start_byte()));
        let siblings = || std::iter::successors(enumerator.prev_named_sibling(), |it| it.prev_named_sibling());
        let before: Vec<Node<'_>> = siblings().take(MOST_BEFORE + 1).collect();
        // A macro, or lines of another build, may be several enumerators.
        let start = before.last().map_or(name.start_byte(), |first| first.start_byte());
        let is_known = before.len() <= MOST_BEFORE
            && before.iter().all(|it| matches!(it.kind(), Kind::Enumerator | Kind::Comment))
            && self.compiled().is_verbatim(&(start..name.end_byte()));
        let is_plain =
            head.is_some_and(|head| head.trim() == "enum") && (is_known || enumerator.field(Field::Value).is_some());
        let all = std::iter::once(enumerator).chain(before.iter().copied());
        let counted: Vec<Node<'_>> = all.filter(|it| it.kind() == Kind::Enumerator).collect();
        let given = counted.iter().enumerate().find_map(|(steps, it)| Some((steps, it.field(Field::Value)?)));
        let steps = given.map_or(counted.len() - 1, |(steps, _)| steps);
        OuterName {
            offset: name.start_byte(),
            value: given.filter(|_| is_plain).map(|(_, value)| (value.start_byte(), value.end_byte())),
            above: i64::try_from(steps).ok().filter(|_| is_plain),
            type_text: "int".to_string(),
            scope,
        }
    }
}

/// Whether a class is derived from others.
fn has_bases(class: Node<'_>) -> bool {
    class.children().any(|part| part.kind() == Kind::BaseClassClause)
}

/// Names in an expression; for `ring.head` and `Traits::N` only the first part.
fn words_of(expression: &str) -> impl Iterator<Item = &str> {
    let starts_a_name = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
    crate::identifiers::identifiers(expression).filter(starts_a_name)
}

/// `4` for `{4}`
pub(super) fn unbraced(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text).trim()
}

/// An initializer's value, converted to the type of the constant.
fn typed(type_text: &str, value: Value) -> Option<Value> {
    let words = type_text.split_whitespace();
    let words: Vec<&str> = words.filter(|word| !matches!(*word, "const" | "constexpr" | "static" | "inline")).collect();
    match words.join(" ").as_str() {
        "auto" => Some(value),
        name => constant::evaluate(&format!("({name})x"), &|_| Some(value)),
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::syntax_tree::SyntaxTree;

    /// The value of `N` at the mark `HERE`.
    fn value(text: &str) -> Option<i64> {
        let tree = SyntaxTree::example("a.cu", text);
        tree.evaluate("N", text.find("HERE").expect("the text has a mark"))
    }

    #[test]
    fn names_mean_the_same_where_nothing_hides_them() {
        for (text, expected) in [
            ("constexpr int N = 8;\nstruct A { int d[N]; void f() { HERE; } };", true),
            ("template <int N> struct A { int d[N]; void f() { HERE; } };", true),
            ("constexpr int N = 8;\nstruct A { int d[N]; void f() { enum { N = 4 }; HERE; } };", false),
            ("constexpr int N = 8;\nstruct A { int d[N]; void f() { using small::N; HERE; } };", false),
            ("constexpr int N = 8;\nstruct A { int d[N]; void f() { static constexpr int N = 4; HERE; } };", false),
            ("constexpr int N = 8;\nstruct A { int d[N]; template <int N> void f() { HERE; } };", false),
            ("constexpr int N = 8;\nstruct A { int d[N]; void f(int N) { HERE; } };", false),
        ] {
            let tree = SyntaxTree::example("a.cu", text);
            let (one, other) = (text.find("d[N]").unwrap() + 2, text.find("HERE").unwrap());
            assert_eq!(tree.means_the_same("N", one, other), expected, "{text}");
        }
    }

    #[test]
    fn members_have_the_value_of_their_class() {
        for (text, expected) in [
            ("struct Config { static constexpr int N = 8; };\nvoid f() { HERE; }", Some(8)),
            ("namespace Config { constexpr int N = 8; }\nvoid f() { HERE; }", Some(8)),
            ("struct Config { enum { N = 8 }; };\nvoid f() { HERE; }", Some(8)),
            ("struct Config { int N = 8; };\nvoid f() { HERE; }", None),
            ("struct Config { static constexpr int M = 4, N = 8, L = 2; };\nvoid f() { HERE; }", Some(8)),
            ("struct Config { static constexpr int N = 8, M = 4; };\nvoid f() { HERE; }", Some(8)),
            ("struct Config { static const int M = 4, N; };\nvoid f() { HERE; }", None),
            ("struct Other { static constexpr int N = 8; };\nvoid f() { HERE; }", None),
            ("template <int M> struct Config { static constexpr int N = M; };\nvoid f() { HERE; }", None),
            ("template <class T> struct Config { static constexpr int N = 8; };\nvoid f() { HERE; }", None),
            (
                "struct Config { static constexpr int N = 8; }; struct Other { static constexpr int N = 4; };\nvoid f() { HERE; }",
                None,
            ),
            ("void f() { HERE; }\nstruct Config { static constexpr int N = 8; };", None),
        ] {
            let tree = SyntaxTree::example("a.cu", text);
            let at = text.find("HERE").expect("the text has a mark");
            assert_eq!(tree.evaluate("Config::N", at), expected, "{text}");
        }
    }

    #[test]
    fn names_have_the_value_of_their_scope() {
        for (text, expected) in [
            ("#define N 4\nvoid f() { int a[N]; HERE; }", Some(4)),
            ("constexpr int N = 2 + 3;\nvoid f() { HERE; }", Some(5)),
            ("constexpr int N = 4;\nvoid f() { constexpr int N = 8; HERE; }", Some(8)),
            ("enum { M = 2, N = M + 6 };\nvoid f() { HERE; }", Some(8)),
            ("enum { M = 2, N };\nvoid f() { HERE; }", Some(3)),
            ("enum { M, O, /* all */ N };\nvoid f() { HERE; }", Some(2)),
            ("enum { M = 2, O, P = M * 4, Q, N };\nvoid f() { HERE; }", Some(10)),
            ("enum Size { M, N };\nvoid f() { HERE; }", None),
            ("enum { M,\n#ifdef X\nO,\n#endif\nN };\nvoid f() { HERE; }", None),
            ("enum Size { N = 8 };\nvoid f() { HERE; }", None),
            ("enum : char { N = 8 };\nvoid f() { HERE; }", None),
            ("void f() { enum { N = 8 }; HERE; }", Some(8)),
            ("void f() { { enum { N = 8 }; } HERE; }", None),
            ("constexpr int N = 4;\nvoid f() { enum { N = 8 }; HERE; }", None),
            ("void f() { constexpr int N = 4; { enum { N = 8 }; HERE; } }", None),
            ("constexpr int N = 4;\nvoid f() { { constexpr int N = 8; } HERE; }", Some(4)),
            ("constexpr int N = 4;\nvoid f(int N) { HERE; }", None),
            ("constexpr int N = 4;\ntemplate <int N> void f() { HERE; }", None),
            ("int N = 4;\nvoid f() { HERE; }", None),
            ("namespace a { constexpr int N = 4; }\nvoid f() { HERE; }", None),
            ("namespace a { constexpr int N = 4; void f() { HERE; } }", Some(4)),
            ("namespace a { constexpr int N = 4; }\nconstexpr int N = 8;\nnamespace a { void f() { HERE; } }", None),
            ("constexpr int N = 4;\nenum { N };\nvoid f() { HERE; }", None),
            ("constexpr int N = 4;\nstruct S : B { void f() { HERE; } };", None),
            ("constexpr int N = 4;\nvoid S::f() { HERE; }", None),
            ("struct S { static constexpr int N = 4; void f() { HERE; } };", Some(4)),
            ("void f() { HERE; }\nconstexpr int N = 4;", None),
            ("constexpr int N = N;\nvoid f() { HERE; }", None),
            ("constexpr float N = 4;\nvoid f() { HERE; }", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn macros_have_the_value_that_was_compiled() {
        for (text, expected) in [
            ("#define N 4\nvoid f() { int a[N]; }\n#undef N\n#define N 8\nvoid g() { int a[N]; HERE; }", Some(8)),
            ("#define N 4\nvoid f() { int a[N];\n#undef N\n#define N 8\nint b[N]; HERE; }", None),
            ("#ifndef N\n#define N 4\n#endif\nvoid f() { int a[N]; HERE; }", None),
            ("#define N (M + 1)\n#define M 4\nvoid f() { int a[N]; HERE; }", Some(5)),
            ("#define N M + 1\n#define M 4\nvoid f() { int a[N]; HERE; }", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_mean_the_same_only_with_the_same_names() {
        for (text, expected) in [
            ("constexpr int N = 4;\nvoid f() { int ONE; { int HERE; } }", true),
            ("constexpr int N = 4;\nvoid f() { int ONE; { constexpr int N = 8; int HERE; } }", false),
            ("void f(int N) { int ONE; { int N = 8; int HERE; } }", false),
            ("#define N 4\nvoid f() { int ONE[N]; int HERE; }", true),
            ("#define N 4\nvoid f() { int ONE[N];\n#undef N\n#define N 8\nint HERE[N]; }", false),
        ] {
            let tree = SyntaxTree::example("a.cu", text);
            let at = |mark: &str| text.find(mark).unwrap();
            assert_eq!(tree.means_the_same("N", at("ONE"), at("HERE")), expected, "{text}");
        }
    }
}
