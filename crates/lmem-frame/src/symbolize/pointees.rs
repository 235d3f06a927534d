//! Arrays behind variables that only refer to them: views, spans, closures, structures with pointers.
//!
//! `Span<float> view{row, 36}` has 16 bytes, and an index into it accesses `row`. If such a variable is smaller than
//! the object, or has no known size, the arrays and structures that it was initialized from are the candidates.

use std::ops::Range;

use cuda_syntax::ast::{Field, Kind};
use cuda_syntax::tree::{Declaration, DeclarationKind, enclosing_function, resolve};
use cuda_syntax::{SyntaxTrees, TreeId};
use lmem_base::mangling::demangle;

use super::resolve::described;
use crate::place::Places;

/// Limit on chains of views.
const MAX_DEPTH: usize = 6;

/// The arrays that a variable refers to. A statement at the first of some places mentions the variable.
pub fn arrays_behind(
    declaration: &Declaration,
    places: &Places,
    trees: &SyntaxTrees<'_>,
) -> Vec<(TreeId, Declaration)> {
    let mut found = Vec::new();
    follow(declaration, 0, &Chain { places, trees }, MAX_DEPTH, &mut found);
    found.sort();
    found.dedup();
    found
}

/// An inline chain, innermost level first.
struct Chain<'a> {
    places: &'a Places,
    trees: &'a SyntaxTrees<'a>,
}

fn follow(
    declaration: &Declaration,
    level: usize,
    chain: &Chain<'_>,
    depth: usize,
    found: &mut Vec<(TreeId, Declaration)>,
) {
    if depth == 0 {
        return;
    }
    if declaration.is_parameter {
        for argument in arguments(declaration, level, chain) {
            named_in(&argument, None, level + 1, chain, depth - 1, found);
        }
        return;
    }
    for source in sources(declaration, level, chain) {
        named_in(&source, Some(declaration), level, chain, depth - 1, found);
    }
}

/// The arguments for a parameter at the call site.
fn arguments(parameter: &Declaration, level: usize, chain: &Chain<'_>) -> Vec<Range<usize>> {
    let found = || {
        let (place, caller) = (chain.places.get(level)?, chain.places.get(level + 1)?);
        if caller.callee.is_none() || caller.callee != place.function {
            return None;
        }
        let names = place.tree(chain.trees).parameters_around(parameter.range.0)?;
        let number = names.iter().position(|name| *name == parameter.name)?;
        let tree = caller.tree(chain.trees);
        let calls = tree.calls_of(tree.region(caller.offset)?, &demangle(caller.callee.as_deref()?));
        Some(calls.into_iter().filter_map(|call| call.arguments.get(number).cloned()).collect())
    };
    found().unwrap_or_default()
}

/// The values of a variable: its initializer, and the right sides of assignments to it or its members.
fn sources(declaration: &Declaration, level: usize, chain: &Chain<'_>) -> Vec<Range<usize>> {
    let mut sources: Vec<Range<usize>> = declaration.initializer.map(|(start, end)| start..end).into_iter().collect();
    let Some(tree) = chain.places.get(level).map(|place| place.tree(chain.trees)) else { return sources };
    let node = tree.root().and_then(|root| {
        enclosing_function(root.named_descendant_for_byte_range(declaration.range.0, declaration.range.1)?)
    });
    let mut open: Vec<_> = node.into_iter().collect();
    while let Some(node) = open.pop() {
        open.extend(node.children());
        if node.kind() != Kind::AssignmentExpression {
            continue;
        }
        let sides = node.field(Field::Left).zip(node.field(Field::Right));
        let text = |range: Range<usize>| tree.text().get(range).unwrap_or("");
        let is_own = |left: &str| {
            left.strip_prefix(declaration.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if let Some((_, right)) = sides.filter(|(left, _)| is_own(text(left.byte_range()))) {
            sources.push(right.byte_range());
        }
    }
    sources
}

/// The arrays that an expression names, and the arrays behind the other variables that it names.
fn named_in(
    range: &Range<usize>,
    own: Option<&Declaration>,
    level: usize,
    chain: &Chain<'_>,
    depth: usize,
    found: &mut Vec<(TreeId, Declaration)>,
) {
    let Some(place) = chain.places.get(level) else { return };
    let tree = place.tree(chain.trees);
    let Some(node) = tree.root().and_then(|root| root.named_descendant_for_byte_range(range.start, range.end)) else {
        return;
    };
    let Some(function) = enclosing_function(node) else { return };
    let declarations = tree.declarations(function);
    for name in tree.identifiers_below(node).into_iter().filter(|name| range.contains(&name.start_byte())) {
        let Some(named) = resolve(&declarations, tree.slice(name), name.start_byte()) else { continue };
        if own.is_some_and(|own| own.range == named.range) {
            continue;
        }
        match named.kind {
            DeclarationKind::Array if !named.is_parameter => {
                found.push((place.tree, described(place, named.clone(), chain.trees)));
            }
            DeclarationKind::Scalar => {}
            _ => {
                // A structure of known size may be what is referred to, or refer to more.
                let described = described(place, named.clone(), chain.trees);
                if !named.is_parameter && described.kind == DeclarationKind::Aggregate && described.bytes.is_some() {
                    found.push((place.tree, described));
                }
                follow(named, level, chain, depth, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;

    use super::*;
    use crate::place::Place;

    /// The arrays behind the variable `v` of the kernel.
    fn behind(body: &str) -> Vec<String> {
        let text = format!("struct Span {{ float *p; int n; }};\n__global__ void k(float *in, int n) {{\n{body}\n}}\n");
        let example = Example::new(&text);
        let trees = example.trees();
        let id = trees.id(Example::NAME).unwrap();
        let tree = trees.tree(id);
        let offset = text.rfind(" v").unwrap() + 1;
        let declaration = tree.declaration_of(&(offset..offset + 1)).unwrap();
        let place = Place { tree: id, line: 3, offset, function: None, callee: None };
        arrays_behind(&declaration, &[place].into_iter().collect(), &trees)
            .into_iter()
            .map(|(_, array)| array.name)
            .collect()
    }

    #[test]
    fn views_and_closures_lead_to_arrays() {
        for (body, expected) in [
            ("float a[8], b[8]; Span v{a + 2, 6};", vec!["a"]),
            ("float a[8]; Span w{a, 8}; Span v = w;", vec!["a"]),
            ("float a[8], b[8]; Span v(a, n);", vec!["a"]),
            ("float a[8]; Span w(a, WIDTH); Span v(w);", vec!["a"]),
            ("float a[8], b[4]; auto v = [&](int i) { return a[i] + b[0]; };", vec!["a", "b"]),
            ("float a[8]; Span v{in, n};", vec![]),
            ("float a[8]; struct { float *p; } v;", vec![]),
        ] {
            assert_eq!(behind(body), expected, "{body}");
        }
    }

    #[test]
    fn assignments_to_members_count() {
        let text = "__global__ void k() {\n  float a[8], b[8];\n  struct { float *p; int n; } v;\n  v.p = a;\n  v.n = 3;\n  other.p = b;\n}\n";
        let example = Example::new(text);
        let trees = example.trees();
        let id = trees.id(Example::NAME).unwrap();
        let offset = text.find(" v;").unwrap() + 1;
        let declaration = trees.tree(id).declaration_of(&(offset..offset + 1)).unwrap();
        let place = Place { tree: id, line: 4, offset, function: None, callee: None };
        let arrays = arrays_behind(&declaration, &[place].into_iter().collect(), &trees);
        assert_eq!(arrays.len(), 1);
        assert_eq!(arrays[0].1.name, "a");
    }
}
