//! Turns a function table into a function with a `switch`. Direct calls can be inlined, and then their arguments need
//! no address.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Function, Kind, Node};
use cuda_syntax::identifiers::{fresh, identifiers, occurrences};
use cuda_syntax::tree::{base_name, enclosing_function, resolve};
use lmem_base::diagnostic::Edit;
use lmem_base::source::Span;
use lmem_frame::{EscapeKind, StackObject};
use lmem_unit::{CompiledUnit, MappedText};

use crate::rewrite::facts::number::is_number;
use crate::rewrite::facts::purity::is_pure;
use crate::rewrite::inline::{has_symbol, heads};

/// Limit on the number of functions in a table.
const MOST_FUNCTIONS: usize = 16;

/// A function table, and the edits that call its functions directly.
pub struct FunctionTable {
    pub name: String,
    pub edits: Vec<Edit>,
    /// Whether nothing can write to the table.
    pub is_constant: bool,
}

/// The declaration of a table.
struct DeclaredTable<'t> {
    statement: Node<'t>,
    name: Node<'t>,
    functions: Vec<Node<'t>>,
    is_constant: bool,
}

/// Tables whose functions get the object's address.
pub fn of_object(object: &StackObject) -> Vec<FunctionTable> {
    let called = object.escapes().iter().filter(|escape| matches!(escape.kind, EscapeKind::IndirectCall));
    let places = called.flat_map(|escape| &escape.places);
    let mut found: Vec<FunctionTable> = Vec::new();
    for table in places.flat_map(|place| called_at(object.tree(place), place.offset)) {
        if !found.iter().any(|known| known.name == table.name) {
            found.push(table);
        }
    }
    found
}

/// Tables that contain the function whose name is at a span. Only the file is searched, so there are none for kernel
/// strings.
pub fn with_function(unit: CompiledUnit<'_>, name: &Span) -> Vec<FunctionTable> {
    let Some(tree) = file_tree(unit, name) else { return Vec::new() };
    let function = base_name(name.text());
    let has_it = |table: &DeclaredTable<'_>| table.functions.iter().any(|found| tree.slice(*found) == function);
    declared_tables(&tree).iter().filter(|table| has_it(table)).filter_map(|table| by_name(&tree, table)).collect()
}

/// Tables called in the function around a span.
pub fn called_near(unit: CompiledUnit<'_>, call: &Span) -> Vec<FunctionTable> {
    let Some(tree) = file_tree(unit, call) else { return Vec::new() };
    tree.offset_of(call).map(|offset| called_at(&tree, offset)).unwrap_or_default()
}

fn file_tree(unit: CompiledUnit<'_>, span: &Span) -> Option<SyntaxTree> {
    let is_text = span.file.path.extension().is_some_and(|ending| ending == "rs");
    (!is_text).then(|| {
        SyntaxTree::new(MappedText::from_file(&span.file), unit.file(&span.file)).with_beside(unit.beside(&span.file))
    })
}

fn called_at(tree: &SyntaxTree, offset: usize) -> Vec<FunctionTable> {
    let node = tree.node_at(offset);
    let Some(function) = node.and_then(enclosing_function) else { return Vec::new() };
    let body = tree.slice(function);
    let is_used = |table: &&DeclaredTable<'_>| occurrences(body, tree.slice(table.name)).next().is_some();
    declared_tables(tree).iter().filter(is_used).filter_map(|table| by_name(tree, table)).collect()
}

/// All function tables at namespace scope.
fn declared_tables(tree: &SyntaxTree) -> Vec<DeclaredTable<'_>> {
    let declarations = outside_of_functions(tree).filter(|node| node.kind() == Kind::Declaration);
    declarations.filter_map(|node| declared_table(tree, node)).collect()
}

/// `__device__ Model models[2] = {linear, last};`
fn declared_table<'t>(tree: &SyntaxTree, statement: Node<'t>) -> Option<DeclaredTable<'t>> {
    let mut declarators = statement.fields(Field::Declarator);
    let initialised = declarators.next().filter(|node| node.kind() == Kind::InitDeclarator)?;
    let value = initialised.field(Field::Value).filter(|value| value.kind() == Kind::InitializerList)?;
    let head = tree.text().get(statement.start_byte()..initialised.start_byte())?;
    let is_of_device = identifiers(head).any(|word| matches!(word, "__device__" | "__constant__"));
    let mut name = initialised.field(Field::Declarator)?;
    let mut is_array = false;
    while name.kind() != Kind::Identifier {
        is_array |= name.kind() == Kind::ArrayDeclarator;
        name = name.field(Field::Declarator).or_else(|| name.named_child(0))?;
    }
    let function_of = |value: Node<'t>| match value.kind() {
        Kind::PointerExpression => value.field(Field::Argument),
        _ => Some(value),
    };
    let values = value.named_children();
    let functions: Vec<Node<'t>> = values.map(function_of).collect::<Option<_>>()?;
    let is_fit = is_of_device
        && is_array
        && (2..=MOST_FUNCTIONS).contains(&functions.len())
        && functions.iter().all(|function| function.kind() == Kind::Identifier);
    let is_constant = identifiers(head).any(|word| matches!(word, "static" | "constexpr"));
    (is_fit && declarators.next().is_none()).then_some(DeclaredTable { statement, name, functions, is_constant })
}

/// The edits for a table; `None` if it is used other than for calls, or a function's head is not understood.
fn by_name(tree: &SyntaxTree, table: &DeclaredTable<'_>) -> Option<FunctionTable> {
    let name = tree.slice(table.name).to_string();
    let called = tree.fresh(&format!("call_{name}"), &[]);
    let mut edits = vec![dispatcher(tree, table, &called)?];
    for at in occurrences(tree.text(), &name) {
        let node = tree.root()?.named_descendant_for_byte_range(at, at + name.len())?;
        if node.kind() == Kind::Comment || node.id() == table.name.id() {
            continue;
        }
        let is_use =
            node.kind() == Kind::Identifier && node.byte_range() == (at..at + name.len()) && tree.is_plain(node);
        edits.extend(call_by_name(tree, node, &called).filter(|_| is_use)?);
    }
    for function in &table.functions {
        let function = tree.slice(*function);
        edits.extend(heads(tree, function, has_symbol(tree, function, false))?);
    }
    edits.sort();
    edits.dedup();
    Some(FunctionTable { name, edits, is_constant: table.is_constant })
}

/// The function with the `switch` that replaces the table.
fn dispatcher(tree: &SyntaxTree, table: &DeclaredTable<'_>, called: &str) -> Option<Edit> {
    let definitions: Vec<Node<'_>> =
        table.functions.iter().map(|function| definition(tree, tree.slice(*function))).collect::<Option<_>>()?;
    // All functions have the same type; some may have unnamed parameters.
    let (result, parameters, names) = definitions.iter().find_map(|definition| head_of(tree, *definition))?;
    let which = fresh(&parameters, "which", &[]);
    let arguments = names.join(", ");
    let separator = if names.is_empty() { "" } else { ", " };
    let mut lines =
        vec![format!("static __device__ __forceinline__ {result} {called}(int {which}{separator}{parameters})")];
    lines.extend(["{".to_string(), format!("    switch ({which}) {{")]);
    let last = table.functions.len() - 1;
    for (number, function) in table.functions.iter().enumerate() {
        let label = if number == last { "default".to_string() } else { format!("case {number}") };
        lines.push(format!("    {label}: return {}({arguments});", tree.slice(*function)));
    }
    lines.extend(["    }".to_string(), "}".to_string()]);
    let ending = tree.line_ending(table.statement.start_byte())?;
    let is_plain = tree.is_plain(table.statement) && !tree.slice(table.statement).contains(['/', '#']);
    let range = table.statement.byte_range();
    is_plain.then(|| tree.lines_instead(range, &lines.join(&ending), &ending)).flatten()
}

/// The only definition of a function with a name.
fn definition<'v>(tree: &'v SyntaxTree, name: &str) -> Option<Node<'v>> {
    let is_it = |function: &Function<'_>| {
        let declarator = function.declarator().filter(|it| it.kind() == Kind::FunctionDeclarator);
        let named = declarator.and_then(|declarator| declarator.field(Field::Declarator));
        named.is_some_and(|named| tree.slice(named) == name)
    };
    let mut found = outside_of_functions(tree).filter_map(Function::of).filter(is_it);
    found.next().filter(|_| found.next().is_none()).map(Function::node)
}

/// All nodes outside functions.
fn outside_of_functions(tree: &SyntaxTree) -> impl Iterator<Item = Node<'_>> {
    let enters = |node: Node<'_>, _: Node<'_>| node.kind() != Kind::FunctionDefinition;
    tree.root().into_iter().flat_map(move |root| root.descendants_through(enters))
}

/// Return type, parameters and parameter names; `None` if a parameter is unnamed.
fn head_of(tree: &SyntaxTree, definition: Node<'_>) -> Option<(String, String, Vec<String>)> {
    let result = tree.slice(definition.field(Field::Type)?);
    let list = definition.field(Field::Declarator)?.field(Field::Parameters)?;
    let parameters: Vec<Node<'_>> = list.named_children().collect();
    let is_simple = parameters.iter().all(|parameter| parameter.kind() == Kind::ParameterDeclaration);
    let names = tree.parameters_around(definition.field(Field::Body)?.start_byte())?;
    let is_complete = names.len() == parameters.len() && names.iter().all(|name| !name.is_empty());
    let texts: Vec<String> =
        parameters.iter().map(|it| tree.slice(*it).split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    (is_simple && is_complete).then(|| (result.to_string(), texts.join(", "), names.to_vec()))
}

/// `call_models(k, x)` for `models[k](x)`, or for calls of a variable initialized with `models[k]`.
fn call_by_name(tree: &SyntaxTree, name: Node<'_>, called: &str) -> Option<Vec<Edit>> {
    let element = name.parent().filter(|parent| parent.kind() == Kind::SubscriptExpression)?;
    let is_base = element.field(Field::Argument) == Some(name);
    let indices = element.field(Field::Indices)?;
    let index_node =
        indices.named_child(0).filter(|_| indices.kind() == Kind::SubscriptArgumentList).unwrap_or(indices);
    // The new parameter would take another conversion of a class.
    let index = is_number(tree, index_node).then(|| tree.slice(index_node))?;
    let user = element.parent().filter(|_| is_base)?;
    match user.kind() {
        // Before C++17 the callee may be evaluated after its arguments, and arguments are evaluated in any order.
        Kind::CallExpression if is_in_any_order(tree, index_node, user) => {
            Some(vec![call(tree, user, element, called, index)?])
        }
        Kind::InitDeclarator => {
            let variable = user.field(Field::Declarator).filter(|node| node.kind() == Kind::Identifier)?;
            let statement = user.parent().filter(|parent| parent.kind() == Kind::Declaration)?;
            let is_alone = statement.fields(Field::Declarator).count() == 1;
            let text = tree.slice(variable);
            let function = enclosing_function(variable).filter(|_| is_alone)?;
            let mut edits = vec![tree.replacement(statement.byte_range(), &format!("const int {text} = {index};"))?];
            let declarations = tree.declarations(function);
            let own = (variable.start_byte(), variable.end_byte());
            let mut open = vec![function];
            while let Some(used) = open.pop() {
                open.extend(used.children());
                let is_named =
                    used.kind() == Kind::Identifier && tree.slice(used) == text && used.start_byte() != own.0;
                let found = resolve(&declarations, text, used.start_byte()).filter(|_| is_named);
                if found.is_some_and(|found| found.range == own) {
                    let user = used.parent().filter(|parent| parent.kind() == Kind::CallExpression)?;
                    edits.push(call(tree, user, used, called, text).filter(|_| tree.is_plain(user))?);
                }
            }
            Some(edits)
        }
        _ => None,
    }
}

/// Whether an index may be evaluated before or after the arguments of a call.
fn is_in_any_order(tree: &SyntaxTree, index: Node<'_>, call: Node<'_>) -> bool {
    let Some(arguments) = call.field(Field::Arguments) else { return false };
    let mut all = arguments.named_children();
    is_pure(tree, index) && all.all(|argument| is_pure(tree, argument))
}

fn call(tree: &SyntaxTree, call: Node<'_>, callee: Node<'_>, called: &str, index: &str) -> Option<Edit> {
    let is_callee = call.field(Field::Function) == Some(callee);
    let arguments = call.field(Field::Arguments).filter(|_| is_callee)?;
    let separator = if arguments.named_child_count() == 0 { "" } else { ", " };
    tree.replacement(call.start_byte()..arguments.start_byte() + 1, &format!("{called}({index}{separator}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    const HEAD: &str = "typedef float (*Rule)(float, const float *);
__device__ __noinline__ float one(float x, const float *) { return x; }
__device__ float two(float x, const float *p) { return x * p[0]; }
";

    fn called(rest: &str) -> Option<(String, bool)> {
        let text = format!("{HEAD}{rest}");
        let tree = SyntaxTree::example("a.cu", &text);
        let tables = called_at(&tree, text.find("HERE")?);
        let table = tables.first()?;
        let edited = apply(&text, &table.edits.iter().collect::<Vec<_>>())?;
        Some((edited, table.is_constant))
    }

    const TABLE: &str = "__device__ Rule rules[2] = {one, &two};\n";
    const SWITCH: &str = "static __device__ __forceinline__ float call_rules(int which, float x, const float *p)
{
    switch (which) {
    case 0: return one(x, p);
    default: return two(x, p);
    }
}
";

    #[test]
    fn functions_are_called_by_name() {
        let head = HEAD.replace("__noinline__", "__forceinline__");
        for (before, after) in [
            (
                "__global__ void k(float *x, int n) { x[0] = rules[n & 1](HERE, x); }",
                "__global__ void k(float *x, int n) { x[0] = call_rules(n & 1, HERE, x); }",
            ),
            (
                "__global__ void k(float *x, int n) { Rule f = rules[n]; if (n) { x[0] = f(f(1, x), HERE); } }",
                "__global__ void k(float *x, int n) { const int f = n; if (n) { x[0] = call_rules(f, call_rules(f, 1, x), HERE); } }",
            ),
        ] {
            assert_eq!(called(&format!("{TABLE}{before}")), Some((format!("{head}{SWITCH}{after}"), false)));
        }
        let constant = called(&format!("static {TABLE}__global__ void k(float *x, int n) {{ rules[n](HERE, x); }}"));
        assert!(constant.is_some_and(|(_, is_constant)| is_constant));
    }

    #[test]
    fn what_may_change_or_is_used_otherwise_is_left_alone() {
        for rest in [
            "__device__ Rule rules[2] = {one, two};\nvoid host() { set(rules); }\n__global__ void k(float *x, int n) { rules[n](HERE, x); }",
            "__device__ Rule rules[2] = {one, two};\n__global__ void k(float *x) { Rule f = rules[0]; f = rules[1]; f(HERE, x); }",
            "__device__ Rule rules[2] = {one, two};\n__global__ void k(float *x, int n) { g(rules[n], HERE); }",
            "__device__ Rule rules[2] = {one, other};\n__global__ void k(float *x, int n) { rules[n](HERE, x); }",
            "__device__ Rule rules[2];\n__global__ void k(float *x, int n) { rules[n](HERE, x); }",
            "__device__ Rule rules[2] = {one, two};\n__global__ void k(float *x, int n) { rules[n++](HERE, x); }",
            "struct Slot { operator int() const; };\n__device__ Rule rules[2] = {one, two};\n__global__ void k(float *x, Slot n) { rules[n](HERE, x); }",
            "__device__ Rule rules[2] = {one, two};\n__global__ void k(float *x, int n) { rules[n](HERE, x + n++); }",
            "Rule rules[2] = {one, two};\n__global__ void k(float *x, int n) { rules[n](HERE, x); }",
            "__device__ Rule rules[2] = {one, two};\n__global__ void k(float *x) { Rule f = rules[0]; auto g = f; g(HERE, x); }",
        ] {
            assert_eq!(called(rest), None, "{rest}");
        }
    }
}
