//! What a type's name stands for: a definition in the file, or an instance of one of its templates.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};

use super::text::split_at_commas;

/// What gives a type a name.
pub(super) const NAMED_TYPES: [Kind; 6] = [
    Kind::StructSpecifier,
    Kind::ClassSpecifier,
    Kind::UnionSpecifier,
    Kind::EnumSpecifier,
    Kind::AliasDeclaration,
    Kind::TypeDefinition,
];

/// Templates of libraries that are an array and nothing else.
const LIBRARY_ARRAYS: [&str; 2] = ["cuda::std::array", "std::array"];

/// The meaning of a type's name.
pub enum NamedType<'t> {
    Enumeration,
    /// Another spelling of a type, or that of the elements of `cuda::std::array`, which has nothing else.
    Alias(String),
    Class(Class<'t>),
}

/// A class, structure or union, with the arguments of its template.
pub struct Class<'t> {
    /// The specifier with the body.
    pub node: Node<'t>,
    /// Its name without arguments, which constructors have too.
    pub name: String,
    arguments: Arguments,
}

/// The arguments of a template by the names of its parameters.
type Arguments = Vec<(String, String)>;

impl Class<'_> {
    /// The type that is written at a node of the body, with the arguments in place of the parameters.
    pub fn spelled(&self, tree: &SyntaxTree, node: Node<'_>) -> String {
        with_arguments(tree.slice(node), &self.arguments)
    }

    /// The types of the bases, as `spelled`; `None` if one of them is virtual, or a pack.
    pub fn bases(&self, tree: &SyntaxTree) -> Option<Vec<String>> {
        let Some(clause) = self.node.children().find(|child| child.kind() == Kind::BaseClassClause) else {
            return Some(Vec::new());
        };
        let listed = tree.slice(clause).trim_start_matches(':');
        split_at_commas(listed).into_iter().map(|base| self.base(base)).collect()
    }

    /// `public Shape<T>`
    fn base(&self, text: &str) -> Option<String> {
        let words = text.split_whitespace().filter(|word| !matches!(*word, "public" | "protected" | "private"));
        let name = words.collect::<Vec<_>>().join(" ");
        let is_plain = occurrences(&name, "virtual").next().is_none() && !name.contains("...");
        is_plain.then(|| with_arguments(&name, &self.arguments))
    }
}

/// Looks a type up by its text. A name that the file defines several times, or that a header of the user's declares too,
/// is unknown, and so is a template with specializations.
pub fn named_type<'t>(tree: &'t SyntaxTree, text: &str) -> Option<NamedType<'t>> {
    let (name, written) = match text.trim().split_once('<') {
        Some((name, rest)) => (name.trim(), Some(split_at_commas(rest.strip_suffix('>')?))),
        None => (text.trim(), None),
    };
    if let (Some([element, _]), true) = (written.as_deref(), LIBRARY_ARRAYS.contains(&name)) {
        return Some(NamedType::Alias(element.trim().to_string()));
    }
    let definitions = definitions(tree, name);
    let [definition] = definitions.as_slice() else { return None };
    let template = definition.parent().filter(|parent| parent.kind() == Kind::TemplateDeclaration);
    let arguments = match (template, written) {
        (None, None) => Vec::new(),
        (Some(template), Some(written)) => arguments(tree, template, &written)?,
        _ => return None,
    };
    let class = |node| NamedType::Class(Class { node, name: name.to_string(), arguments: arguments.clone() });
    match definition.kind() {
        Kind::EnumSpecifier => Some(NamedType::Enumeration),
        Kind::AliasDeclaration | Kind::TypeDefinition => {
            let aliased = definition.field(Field::Type)?;
            Some(match aliased.field(Field::Body) {
                Some(_) if aliased.kind() == Kind::EnumSpecifier => NamedType::Enumeration,
                Some(_) => class(aliased),
                None => NamedType::Alias(with_arguments(tree.slice(aliased), &arguments)),
            })
        }
        _ => Some(class(*definition)),
    }
}

/// Whether a name stands for a pointer to a function, and for nothing else in the file: no template has a parameter of that name.
pub fn is_pointer_to_function(tree: &SyntaxTree, name: &str) -> bool {
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_name || tree.is_declared_beside(name) {
        return false;
    }
    let is_parameter = |template: Node<'_>| {
        let parameters = template.field(Field::Parameters);
        parameters.is_none_or(|parameters| identifiers(tree.slice(parameters)).any(|word| word == name))
    };
    if tree.nodes_of(&[Kind::TemplateDeclaration]).any(is_parameter) {
        return false;
    }
    let mut defined = tree.nodes_of(&NAMED_TYPES).filter(|node| {
        let named = [Field::Name, Field::Declarator].into_iter().find_map(|field| node.field(field));
        named.is_some_and(|named| identifiers(tree.slice(named)).any(|word| word == name))
    });
    let (Some(definition), None) = (defined.next(), defined.next()) else { return false };
    let squeezed = |node: Node<'_>| tree.slice(node).split_whitespace().collect::<String>();
    match definition.kind() {
        Kind::TypeDefinition => definition
            .field(Field::Declarator)
            .is_some_and(|declarator| squeezed(declarator).starts_with(&format!("(*{name})("))),
        Kind::AliasDeclaration => definition
            .field(Field::Type)
            .and_then(|aliased| aliased.field(Field::Declarator))
            .is_some_and(|declarator| squeezed(declarator).starts_with("(*)(")),
        _ => false,
    }
}

/// All definitions of a name, with those of templates and their specializations.
fn definitions<'t>(tree: &'t SyntaxTree, name: &str) -> Vec<Node<'t>> {
    let defines = |node: &Node<'_>| {
        let named = match node.kind() {
            Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier | Kind::EnumSpecifier => {
                node.field(Field::Name).filter(|_| node.field(Field::Body).is_some())
            }
            Kind::AliasDeclaration => node.field(Field::Name),
            Kind::TypeDefinition => node.field(Field::Declarator).filter(|it| it.kind() == Kind::TypeIdentifier),
            _ => None,
        };
        named.is_some_and(|named| tree.slice(named).split('<').next().map(str::trim) == Some(name))
    };
    // One of that name in another file may be the one that is meant.
    let is_elsewhere = tree.is_declared_beside(name);
    tree.nodes_of(&NAMED_TYPES).filter(|node| !is_elsewhere && defines(node)).collect()
}

/// The arguments of a template's parameters, given or by default; `None` for packs and for templates as parameters.
fn arguments(tree: &SyntaxTree, template: Node<'_>, written: &[&str]) -> Option<Arguments> {
    let parameters = tree.slice(template.field(Field::Parameters)?).strip_prefix('<')?.strip_suffix('>')?;
    let parameters = split_at_commas(parameters);
    let mut known = Arguments::new();
    for (at, parameter) in parameters.iter().enumerate() {
        let (declared, default) = match parameter.split_once('=') {
            Some((declared, default)) => (declared, Some(default)),
            None => (*parameter, None),
        };
        let is_simple = !declared.contains("...") && !declared.contains('<');
        let (_, name) = declared.trim().rsplit_once(char::is_whitespace).filter(|_| is_simple)?;
        let argument = match written.get(at) {
            Some(argument) => argument.trim().to_string(),
            None => with_arguments(default?.trim(), &known),
        };
        known.push((name.to_string(), argument));
    }
    (written.len() <= parameters.len()).then_some(known)
}

/// A text with the arguments of a template in place of its parameters.
fn with_arguments(text: &str, arguments: &Arguments) -> String {
    let named = |(name, argument): &(String, String)| -> Vec<(usize, usize, String)> {
        occurrences(text, name).map(|at| (at, name.len(), argument.clone())).collect()
    };
    let mut found: Vec<(usize, usize, String)> = arguments.iter().flat_map(named).collect();
    found.sort();
    let (mut spelled, mut end) = (String::new(), 0);
    for (at, length, argument) in found {
        spelled.push_str(&text[end..at]);
        spelled.push_str(&argument);
        end = at + length;
    }
    spelled + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
struct Plain { int n; };
template <int N, typename T = float> struct Stack { T items[N]; int top; };
template <typename T> using Eight = Stack<8, T>;
template <typename T> struct Twice { T a; };
template <> struct Twice<int> { int a, b, c; };
template <typename... T> struct Pack { int n; };
template <typename T> class Derived : public Stack<4, T>, Plain { T more; };
struct Virtual : virtual Plain { int m; };
enum Mode { fast };
";

    fn spelled(text: &str) -> Option<String> {
        let tree = SyntaxTree::example("a.cu", TEXT);
        match named_type(&tree, text)? {
            NamedType::Enumeration => Some("enum".to_string()),
            NamedType::Alias(other) => Some(other),
            NamedType::Class(class) => {
                let bases = class.bases(&tree)?;
                let members = class.node.field(Field::Body)?.named_children();
                let types = members.filter_map(|member| member.field(Field::Type));
                let types: Vec<String> = types.map(|node| class.spelled(&tree, node)).collect();
                Some(format!("{}: {} {{ {} }}", class.name, bases.join(", "), types.join("; ")))
            }
        }
    }

    #[test]
    fn instances_have_the_arguments_of_their_templates() {
        for (name, expected) in [
            ("Plain", "Plain:  { int }"),
            ("Stack<8>", "Stack:  { float; int }"),
            ("Stack<2 * 4, double>", "Stack:  { double; int }"),
            ("Eight<int>", "Stack<8, int>"),
            ("Derived<short>", "Derived: Stack<4, short>, Plain { short }"),
            ("Mode", "enum"),
            ("cuda::std::array<Plain, 8>", "Plain"),
        ] {
            assert_eq!(spelled(name).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_is_not_certain_is_unknown() {
        // A template without arguments, too many arguments, a specialization, a pack, a virtual base.
        for name in
            ["Stack", "Plain<3>", "Stack<1, int, 2>", "Twice<int>", "Twice<float>", "Pack<int>", "Virtual", "Other"]
        {
            assert_eq!(spelled(name), None, "{name}");
        }
    }
}
