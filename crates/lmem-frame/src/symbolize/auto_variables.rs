//! Variables that look like an alias but are copies, `auto even = line.at(k)`, or hold what a call returned,
//! `const Pair &even = made(k)`.
//!
//! The text does not show whether `auto` is a pointer; nvcc's front end does.

use cuda_syntax::tree::{DeclarationKind, Mention};
use cuda_syntax::{SyntaxTrees, types};

use super::resolve::{describe, front_end};
use crate::place::Place;

/// Assigns uses of a copy to the copy, not to the variable that it was copied from.
pub fn settle(mentions: &mut Vec<Mention>, place: &Place, trees: &SyntaxTrees<'_>) {
    for mention in mentions.iter_mut().filter(|mention| mention.is_by_other_name(place.tree(trees).text())) {
        let Some(named) = place.tree(trees).declaration_of(&mention.identifier) else { continue };
        let Some(variable) = front_end(place, trees, &named).filter(|variable| is_value(&variable.type_text)) else {
            continue;
        };
        mention.declaration = named;
        mention.declaration.kind = match types::is_scalar(&variable.type_text) {
            true => DeclarationKind::Scalar,
            false => DeclarationKind::Aggregate,
        };
        if variable.is_temporary {
            describe(&mut mention.declaration, variable);
        }
        mention.outer.clear();
    }
    mentions.dedup_by(|next, known| next == known);
}

/// The front end represents references as pointers.
fn is_value(type_text: &str) -> bool {
    !type_text.contains(['*', '&', '['])
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, at};
    use cuda_syntax::tree::Mention;

    use super::*;

    /// The variables that `out[0] = …` uses, if the front end knows the type of `even`.
    fn used(type_text: &str) -> Vec<String> {
        let text =
            "__global__ void k(float *out, int n) {\n  Pair line[4];\n  auto &even = line[n];\n  out[0] = even.x;\n}\n";
        let scene = Scene::new(text).with_variable(("even", type_text, 8), "  auto", &[]);
        scene.ask(|it| {
            let place = it.places(&[at("out[0]")]).first().cloned().unwrap();
            let tree = place.tree(it.trees);
            let mut mentions: Vec<Mention> = tree.mentions(tree.region(place.offset).unwrap()).to_vec();
            settle(&mut mentions, &place, it.trees);
            let of_interest = mentions.into_iter().filter(|mention| mention.declaration.name != "out");
            of_interest.map(|mention| mention.declaration.name).collect()
        })
    }

    #[test]
    fn a_copy_is_a_variable_of_its_own_and_a_reference_is_not() {
        assert_eq!(used("Pair"), ["even"]);
        assert_eq!(used("Pair*"), ["line"]);
        assert_eq!(used("Pair&"), ["line"]);
    }
}
