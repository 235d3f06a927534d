//! Makes all constant tables of a kernel and its functions `static` at once. While one of them is in registers, as selects
//! or by unrolling, it is only there because the compiler had another one in local memory: `static` for one table alone
//! then leaves as many bytes in local memory as before.

use std::collections::BTreeSet;

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::last_name;
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::{Edit, Suggestion};
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::named_type::{NamedType, named_type};
use super::facts::sites::located;
use super::static_table::is_of_constants;

/// Limit on the tables of one edit: a reader would rarely accept more.
const MOST_TABLES: usize = 6;

/// The suggestion that makes one table `static`, with the other tables of the kernels that it is in.
pub fn suggestion(object: &StackObject, own: &Suggestion) -> Option<Suggestion> {
    let variable = object.variable.as_ref()?;
    let (tree, offset) = located(object, &variable.span)?;
    let others = tables_beside(tree, offset);
    if others.is_empty() || others.len() >= MOST_TABLES {
        return None;
    }
    let edits: Vec<Edit> = others.iter().map(|other| other.edit.clone()).collect();
    let is_within_kernel = own.is_within_kernel && others.iter().all(|other| other.is_within_kernel);
    let added = Rewrite::new(own.applicability, edits).within_kernel(is_within_kernel);
    let first = Rewrite::new(own.applicability, own.edits.clone()).within_kernel(own.is_within_kernel);
    let names: Vec<String> =
        std::iter::once(&variable.name).chain(others.iter().map(|it| &it.name)).map(|it| format!("`{it}`")).collect();
    let (last, rest) = names.split_last()?;
    let title = format!("declare {} and {last} as `static` (each one table for all threads)", rest.join(", "));
    Some(first.and(added)?.suggestion(title))
}

/// A table that may be made `static` too.
struct Table {
    name: String,
    edit: Edit,
    is_within_kernel: bool,
}

/// The other tables of the functions that are executed in one kernel with the table at an offset.
fn tables_beside(tree: &SyntaxTree, offset: usize) -> Vec<Table> {
    let Some(functions) = functions_beside(tree, offset) else { return Vec::new() };
    let declarations = functions.into_iter().flat_map(Node::descendants);
    declarations
        .filter(|node| node.kind() == Kind::Declaration && !node.byte_range().contains(&offset))
        .filter_map(|node| {
            let name = constant_table(tree, node)?;
            Some(Table {
                name: tree.slice(name).to_string(),
                edit: tree.insertion(node.start_byte(), "static ")?,
                is_within_kernel: tree.is_within_kernel(node.start_byte()),
            })
        })
        .collect()
}

/// The name of `const float w[8] = {1.f, …};` in a block: an array of numbers of a built-in type that nothing may write.
fn constant_table<'t>(tree: &SyntaxTree, node: Node<'t>) -> Option<Node<'t>> {
    let is_statement = node.parent()?.kind() == Kind::CompoundStatement;
    let mut declarators = node.fields(Field::Declarator);
    let whole = declarators.next().filter(|it| it.kind() == Kind::InitDeclarator && is_statement)?;
    let array = whole.field(Field::Declarator).filter(|it| it.kind() == Kind::ArrayDeclarator)?;
    let words = node.children().filter(|child| child.end_byte() <= whole.start_byte()).map(|child| tree.slice(child));
    let words: Vec<&str> = words.collect();
    let type_text = tree.slice(node.field(Field::Type)?);
    // Nothing else may stand before the name: `volatile`, `__shared__` or `static`.
    let is_number =
        types::size_of(type_text).is_some() || matches!(named_type(tree, type_text), Some(NamedType::Enumeration));
    let is_plain = words.iter().all(|word| matches!(*word, "const" | "constexpr") || *word == type_text);
    let is_constant = is_number && is_plain && words.iter().any(|word| *word != type_text);
    let values = whole.field(Field::Value).filter(|it| it.kind() == Kind::InitializerList)?;
    let name = array.declared_name();
    let is_fit = is_constant
        && declarators.next().is_none()
        && name.kind() == Kind::Identifier
        && are_constants(tree, values)
        && tree.is_plain(node);
    is_fit.then_some(name)
}

fn are_constants(tree: &SyntaxTree, values: Node<'_>) -> bool {
    let mut all = values.parts().peekable();
    all.peek().is_some()
        && all.all(|value| match value.kind() {
            Kind::InitializerList => are_constants(tree, value),
            _ => is_of_constants(tree, value),
        })
}

/// The device functions that a kernel calls, by name, which calls the function around an offset too, or is it.
fn functions_beside(tree: &SyntaxTree, offset: usize) -> Option<Vec<Node<'_>>> {
    let functions: Vec<Node<'_>> =
        tree.nodes_of(&[Kind::FunctionDefinition]).filter(|node| is_of_device(tree, *node)).collect();
    let name = |function: Node<'_>| {
        let name = tree.function_at(function.field(Field::Body)?.start_byte())?.name;
        tree.text().get(name).map(last_name)
    };
    let names: Vec<Option<&str>> = functions.iter().map(|function| name(*function)).collect();
    let called: Vec<BTreeSet<usize>> = functions
        .iter()
        .map(|function| {
            let words: BTreeSet<&str> =
                tree.identifiers_below(*function).into_iter().map(|word| tree.slice(word)).collect();
            (0..functions.len()).filter(|other| names[*other].is_some_and(|name| words.contains(name))).collect()
        })
        .collect();
    let reached = |from: usize| {
        let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(function) = open.pop() {
            open.extend(called[function].iter().filter(|next| seen.insert(**next)));
        }
        seen
    };
    let own = functions.iter().rposition(|function| function.byte_range().contains(&offset))?;
    let with_own = (0..functions.len()).map(reached).filter(|seen| seen.contains(&own));
    let all: BTreeSet<usize> = with_own.flatten().collect();
    Some(all.into_iter().map(|function| functions[function]).collect())
}

fn is_of_device(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let end = function.field(Field::Body).map_or(function.end_byte(), |body| body.start_byte());
    let head = tree.text().get(function.start_byte()..end).unwrap_or("");
    ["__global__", "__device__"].iter().any(|word| head.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "__device__ int own(int i) { const int g[4] = {1, 2, 3, 4}; return g[i]; }\n";

    fn beside(text: &str) -> Vec<String> {
        let text = format!("{OWN}{text}");
        let tree = SyntaxTree::example("a.cu", &text);
        tables_beside(&tree, text.find("g[4]").unwrap()).into_iter().map(|table| table.name).collect()
    }

    #[test]
    fn tables_of_the_kernels_belong_together() {
        let kernel = |body: &str| format!("__global__ void k(int* o, int n) {{ {body} o[0] = own(n); }}\n");
        assert_eq!(beside(&kernel("auto f = [](int i) { const float w[2] = {1.f, -0.5f}; return w[i]; };")), ["w"]);
        assert_eq!(beside(&kernel("constexpr short w[][2] = {{1, 2}, {3, 4}};")), ["w"]);
        let helper = "__device__ int h(int i) { const int w[2] = {1, 2}; return w[i]; }\n";
        assert_eq!(beside(&format!("{helper}{}", kernel("n += h(n);"))), ["w"]);
        // Of no kernel that calls the function, or of the host.
        assert!(beside(&format!("{helper}{}", kernel(""))).is_empty());
        assert!(beside("void host() { const int w[2] = {1, 2}; k<<<1, 1>>>(own, w); }").is_empty());
    }

    #[test]
    fn what_may_be_written_or_is_no_constant_stays() {
        for table in [
            "int w[2] = {1, 2};",
            "const int w[2] = {1, n};",
            "static const int w[2] = {1, 2};",
            "volatile const int w[2] = {1, 2};",
            "__shared__ const int w[2] = {1, 2};",
            "const char *w[2] = {\"a\", \"b\"};",
            "const int w[2] = {1, 2}, v[2] = {1, 2};",
            "const Counter w[2] = {1, 2};",
            "const int w = 1;",
            "const int w[2] = {};",
            "for (const int w[2] = {1, 2}; n;) { }",
            "const int w[2] = {1, own(2)};",
        ] {
            let text = format!("__global__ void k(int* o, int n) {{ {table} o[0] = own(n); }}\n");
            assert!(beside(&text).is_empty(), "{table}");
        }
    }
}
