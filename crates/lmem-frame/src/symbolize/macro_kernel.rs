//! Variables of a function that a macro defines: the text has only the macro use, on one line. nvcc's front end lists
//! the variables. If only one of them has the size of an object, it is that object's variable.

use cuda_syntax::tree::Mention;
use cuda_syntax::{SyntaxTrees, types};
use lmem_unit::FrontEndVariable;

use super::resolve::hidden_declaration;
use crate::place::Place;

/// Sizes that differ by no more than this could be equal with padding.
const MAX_PADDING: u64 = 15;

/// Uses of variables that a line outside all functions may contain.
pub fn mentions(place: &Place, trees: &SyntaxTrees<'_>, variables: &[FrontEndVariable]) -> Vec<Mention> {
    let Some(range) = place.tree(trees).line_range(place.line as usize).filter(|_| !variables.is_empty()) else {
        return Vec::new();
    };
    // A macro use without a semicolon is parsed as a part of the following function.
    let around =
        place.tree(trees).function_at(place.offset).and_then(|function| place.tree(trees).text().get(function.name));
    if around.is_some_and(|name| place.function.as_deref().is_none_or(|function| function.contains(name))) {
        return Vec::new();
    }
    let is_large = |variable: &&FrontEndVariable| {
        let type_text = &variable.type_text;
        variable.line == place.line && !types::is_scalar(type_text) && !type_text.ends_with(['*', '&'])
    };
    let large: Vec<&FrontEndVariable> = variables.iter().filter(is_large).collect();
    let has_own_size = |variable: &FrontEndVariable| {
        let is_near = |other: &FrontEndVariable| match (variable.bytes, other.bytes) {
            (Some(one), Some(other)) => one.abs_diff(other) <= MAX_PADDING,
            _ => true,
        };
        large.iter().filter(|other| is_near(other)).count() == 1
    };
    let own = large.iter().filter(|variable| has_own_size(variable));
    let declarations = own.filter_map(|variable| hidden_declaration(place, trees, variable));
    let mention = |declaration| Mention {
        declaration,
        identifier: range.clone(),
        range: range.clone(),
        indices: Vec::new(),
        outer: Vec::new(),
        is_read: true,
        is_written: true,
        is_passed: false,
        is_operand: false,
        macro_index: None,
    };
    declarations.map(mention).collect()
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Level, Scene, at};
    use super::*;

    /// The front end's variables that the line of `HIST(…)` may use.
    fn named(variables: &[(&str, &str, u64)]) -> Vec<String> {
        let text = "HIST(h16, 16)\n";
        let scene =
            variables.iter().fold(Scene::new(text), |scene, variable| scene.with_variable(*variable, "HIST", &[]));
        scene.ask(|it| {
            let place = it.places(&[Level { function: Some("_Z1k"), ..at("HIST") }]).first().cloned().unwrap();
            let found = mentions(&place, it.trees, it.trees.front_end.of("_Z1k"));
            found.into_iter().map(|mention| mention.declaration.name).collect()
        })
    }

    #[test]
    fn a_size_of_its_own_tells_a_variable() {
        assert_eq!(named(&[("bins", "int[16]", 64), ("i", "int", 4)]), ["bins"]);
        assert_eq!(named(&[("bins", "int[16]", 64), ("sums", "float[64]", 256)]), ["bins", "sums"]);
        // Sizes that padding can make equal do not identify a variable.
        assert!(named(&[("bins", "int[16]", 64), ("sums", "float[17]", 68)]).is_empty());
        assert!(named(&[("i", "int", 4), ("p", "float*", 8)]).is_empty());
    }
}
