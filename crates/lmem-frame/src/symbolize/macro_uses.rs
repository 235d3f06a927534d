//! Variables that the code of a macro uses. `LOOK(i)` may stand for `digest(point, key)`: its text does not have the
//! variables. Of those that it has, as `row` in `PUSH(row, x)`, the code shows which are read and which are written.

use std::collections::BTreeSet;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::ast::Node;
use cuda_syntax::tree::{Declaration, DeclarationKind, Expanded, ExpandedUse, Mention, Passed};
use lmem_unit::FrontEndVariable;

use super::resolve::{described, hidden_declaration};
use crate::place::Place;

/// Declarations, by their byte ranges in the tree of a place.
pub type Declared = BTreeSet<(usize, usize)>;

/// Completes the uses of variables in the statement at a place by what its macros do.
pub fn complete(
    mentions: &mut Vec<Mention>,
    place: &Place,
    regions: &[Node<'_>],
    trees: &SyntaxTrees<'_>,
    hidden: &[FrontEndVariable],
) {
    for region in regions {
        for expanded in place.tree(trees).expanded(*region).iter() {
            let own: BTreeSet<&str> = identifiers(place, trees, expanded).collect();
            for used in expanded.uses() {
                if own.contains(used.name.as_str()) {
                    narrow(mentions, place, trees, expanded, &used);
                    continue;
                }
                // A number has no address that the code could use, unless it is passed on.
                let declarations = declarations(&used.name, place, trees, expanded, hidden).into_iter();
                let large = declarations.filter(|declaration| declaration.kind != DeclarationKind::Scalar);
                mentions.extend(large.map(|declaration| mention(declaration, expanded, &used)));
            }
        }
    }
}

/// The names in the text of an invocation.
fn identifiers<'t>(place: &'t Place, trees: &'t SyntaxTrees<'_>, expanded: &Expanded) -> impl Iterator<Item = &'t str> {
    let text = place.tree(trees).text().get(expanded.range.clone()).unwrap_or("");
    cuda_syntax::identifiers::identifiers(text)
}

/// Uses that stand in the text are what the code makes of them: it may only read what looks like an argument.
fn narrow(mentions: &mut [Mention], place: &Place, trees: &SyntaxTrees<'_>, expanded: &Expanded, used: &ExpandedUse) {
    let is_within = |mention: &&mut Mention| {
        let identifier = &mention.identifier;
        expanded.range.start <= identifier.start && identifier.end <= expanded.range.end
    };
    for mention in mentions.iter_mut().filter(is_within) {
        if place.tree(trees).text().get(mention.identifier.clone()) == Some(used.name.as_str()) {
            mention.is_read = used.is_read;
            mention.is_written = used.is_written;
            mention.is_passed = used.is_passed;
            mention.macro_index = used.index;
        }
    }
}

fn declarations(
    name: &str,
    place: &Place,
    trees: &SyntaxTrees<'_>,
    expanded: &Expanded,
    hidden: &[FrontEndVariable],
) -> Vec<Declaration> {
    let declared = place.tree(trees).variables_named(expanded.range.start, name);
    if !declared.is_empty() {
        return declared.into_iter().map(|declaration| described(place, declaration, trees)).collect();
    }
    // Two variables of one name are not told apart here.
    let mut named = hidden.iter().filter(|variable| variable.name == name);
    let only = named.next().filter(|_| named.next().is_none());
    only.and_then(|variable| hidden_declaration(place, trees, variable)).into_iter().collect()
}

fn mention(declaration: Declaration, expanded: &Expanded, used: &ExpandedUse) -> Mention {
    Mention {
        declaration,
        identifier: expanded.range.clone(),
        range: expanded.range.clone(),
        indices: Vec::new(),
        outer: Vec::new(),
        is_read: used.is_read,
        is_written: used.is_written,
        is_passed: used.is_passed,
        is_operand: false,
        macro_index: used.index,
    }
}

/// The variables with some names, as macros at a place use them.
pub fn declared(names: &BTreeSet<String>, place: &Place, trees: &SyntaxTrees<'_>, expanded: &Expanded) -> Declared {
    let hidden = place.function.as_deref().map(|function| trees.front_end.of(function)).unwrap_or_default();
    let all = names.iter().flat_map(|name| declarations(name, place, trees, expanded, hidden));
    all.map(|declaration| declaration.range).collect()
}

/// The variables in an argument of all calls of a function that macros at a place hide.
pub fn arguments(place: &Place, trees: &SyntaxTrees<'_>, function: &str, passed: Passed) -> Declared {
    let tree = place.tree(trees);
    let regions = tree.regions(place.offset).into_iter();
    let all = regions.flat_map(|region| tree.expanded(region).to_vec());
    all.flat_map(|expanded| declared(&expanded.argument_names(function, passed), place, trees, &expanded)).collect()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::scene::{Level, Scene, at, object};
    use super::super::votes::{Resolved, votes};
    use crate::access::RawObject;

    const TEXT: &str = "#define LOOK(x) { digest(point, h); digest(back, h); if (h[0] == (x)) out[0] = 1; }
#define ADD(c, a) asm volatile(\"add.u32 %0, %0, %1;\" : \"+r\"(c) : \"r\"(a))
#define CALL(x) minus(point, x)
__device__ void minus(int *r, int *b) {
  int mask[4];
  ADD(r[0], mask[0]);
}
__global__ void k(int *out, int n) {
  int point[4], back[4], h[4], other[4];
  LOOK(n);
  CALL(other);
}
";

    /// The names that an object may have, with their certain votes.
    fn names(object: impl FnOnce(&super::super::scene::Shown<'_>) -> RawObject) -> Vec<(String, u64)> {
        Scene::new(TEXT).ask(|it| {
            let object = object(it);
            let scores = votes(&object, &Resolved::new(&object, it.trees, &Rc::default()));
            let mut names: Vec<_> = scores.into_iter().map(|((_, one), score)| (one.name, score.certain)).collect();
            names.sort();
            names
        })
    }

    fn pairs(names: &[(&str, u64)]) -> Vec<(String, u64)> {
        names.iter().map(|(name, certain)| ((*name).to_string(), *certain)).collect()
    }

    #[test]
    fn arguments_of_calls_in_macros_are_told_by_their_number() {
        let of = |index: usize| {
            names(|it| RawObject {
                escapes: vec![it.passed("_Z6digestPiS_", (index, 2), &[at("LOOK(n)")])],
                ..object(16, vec![])
            })
        };
        assert_eq!(of(0), pairs(&[("back", 1), ("point", 1)]));
        assert_eq!(of(1), pairs(&[("h", 1)]));
    }

    #[test]
    fn variables_of_inlined_functions_are_not_passed_on_elsewhere() {
        let minus = "_Z5minusPiS_";
        let inside =
            [Level { function: Some(minus), ..at("ADD(r[0]") }, Level { callee: Some(minus), ..at("CALL(other)") }];
        let of = |is_passed: bool| {
            names(|it| RawObject {
                escapes: is_passed.then(|| it.passed("_Z6digestPiS_", (0, 2), &[at("LOOK(n)")])).into_iter().collect(),
                ..object(16, vec![it.load(&inside), it.store(&inside)])
            })
        };
        assert_eq!(of(true), pairs(&[("back", 1), ("point", 1)]));
        // The code reads `mask` and writes `r`, which is `point` there.
        assert_eq!(of(false), pairs(&[("mask", 0), ("point", 0)]));
    }
}
