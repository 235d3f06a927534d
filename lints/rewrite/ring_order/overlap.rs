//! Whether a loop writes through a pointer what it reads through another one.
//!
//! Rounds in another order then read before what they read after. Two names lead to different memory where one of them is
//! `__restrict__`, or where one is a variable of the function whose parts are no pointers.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{Declaration, DeclarationKind, Declarations, enclosing_function, is_callee, resolve};
use cuda_syntax::{SyntaxTree, types};

use crate::rewrite::facts::named_type::{NamedType, named_type};
use crate::rewrite::facts::purity::is_builtin;

/// Whether memory that is written under one of the names may be that which the body reads or writes under another.
pub(super) fn may_overlap<'w>(tree: &SyntaxTree, body: Node<'_>, written: impl Iterator<Item = &'w str>) -> bool {
    let Some(function) = enclosing_function(body) else { return true };
    let all = tree.declarations(function);
    let reached: Vec<(&str, bool)> =
        tree.identifiers_below(body).into_iter().filter_map(|node| reached(tree, &all, node)).collect();
    let mut written = written.filter_map(|name| reached.iter().find(|(known, _)| *known == name));
    written.any(|(name, is_restricted)| {
        reached.iter().any(|(other, other_is)| other != name && !is_restricted && !other_is)
    })
}

/// The name, if memory outside the function may be reached by it, and whether it is `__restrict__`.
fn reached<'t>(tree: &'t SyntaxTree, all: &Declarations, node: Node<'t>) -> Option<(&'t str, bool)> {
    let name = tree.slice(node);
    let Some(found) = resolve(all, name, node.start_byte()) else {
        let is_known = is_callee(node) || tree.is_fixed(name, node.start_byte()) || is_builtin(name);
        return (!is_known).then_some((name, false));
    };
    match found.kind {
        DeclarationKind::Scalar => None,
        DeclarationKind::Array | DeclarationKind::Aggregate if is_of_numbers(tree, &found.type_text) => None,
        DeclarationKind::Array | DeclarationKind::Aggregate => Some((name, false)),
        DeclarationKind::Alias => Some((name, is_restricted(tree, found))),
    }
}

/// Whether a type has nothing but numbers: `float[8]`, `float4`, or a structure of them.
fn is_of_numbers(tree: &SyntaxTree, type_text: &str) -> bool {
    let element = type_text.split('[').next().unwrap_or_default().trim();
    let element = element.trim_start_matches("const ").trim_start_matches("struct ");
    if types::size_of(element).is_some() {
        return true;
    }
    let Some(NamedType::Class(class)) = named_type(tree, element) else { return false };
    let Some(body) = class.node.field(Field::Body).filter(|_| class.bases(tree).is_some_and(|bases| bases.is_empty()))
    else {
        return false;
    };
    let mut members = body.named_children().filter(|member| member.kind() == Kind::FieldDeclaration);
    members.all(|member| {
        let is_number = member.field(Field::Type).is_some_and(|it| types::size_of(&class.spelled(tree, it)).is_some());
        let mut declarators = member.fields(Field::Declarator);
        is_number && declarators.all(|it| !tree.slice(it).contains(['*', '&']))
    })
}

fn is_restricted(tree: &SyntaxTree, declaration: &Declaration) -> bool {
    let declared = || {
        let node = tree.root()?.named_descendant_for_byte_range(declaration.range.0, declaration.range.1)?;
        node.ancestors().find(|it| matches!(it.kind(), Kind::ParameterDeclaration | Kind::Declaration))
    };
    declaration.is_parameter && declared().is_some_and(|node| tree.slice(node).contains("restrict"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaps(parameters: &str, body: &str) -> bool {
        let text = format!(
            "struct Ring {{ float slot[8]; int head; }};\nstruct View {{ float *data; }};\n__device__ float total;\n\
             __global__ void k({parameters}, int n, View view) {{ float w[8]; Ring r; float4 v; float sum;\n\
             for (int j = 0; j < 8; ++j) {{ {body} }} }}"
        );
        let tree = SyntaxTree::example("a.cu", &text);
        let body = tree.nodes().find(|node| node.kind() == Kind::ForStatement).unwrap().field(Field::Body).unwrap();
        may_overlap(&tree, body, ["out", "sum", "total"].into_iter())
    }

    #[test]
    fn pointers_may_lead_to_the_same_memory() {
        for body in [
            "out[j] = w[j] + in[j];",
            "out[j] = w[j]; sum += in[j];",
            "out[j] = w[j] + *in;",
            "out[j] = w[j] + view.data[j];",
            "out[j] = w[j] + total;",
            "total += in[j];",
        ] {
            assert!(overlaps("const float *in, float *out", body), "{body}");
        }
        assert!(overlaps("const float &in, float *out", "out[j] = w[j] + in;"));
    }

    #[test]
    fn what_is_restricted_or_of_the_function_lies_apart() {
        for body in
            ["out[j] = w[j] * r.slot[j] + v.x + threadIdx.x + n;", "sum += w[j] * in[j];", "out[j] = fabsf(w[j]);"]
        {
            assert!(!overlaps("const float *in, float *out", body), "{body}");
        }
        for parameters in [
            "const float *__restrict__ in, float *out",
            "const float *in, float *__restrict__ out",
            "const float * __restrict in, float * __restrict out",
        ] {
            assert!(!overlaps(parameters, "out[j] = w[j] + in[j];"), "{parameters}");
        }
    }
}
