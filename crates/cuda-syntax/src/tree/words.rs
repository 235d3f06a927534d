//! Names that a text does not have yet, for what edits add to it.

use std::collections::HashSet;

use crate::identifiers::{identifiers, numbered};
use crate::tree::syntax_tree::SyntaxTree;

impl SyntaxTree {
    /// All identifiers of the text, comments included. Each edit asks for a name that is none of them.
    pub fn words(&self) -> &HashSet<String> {
        self.memory.words.get_or_init(|| identifiers(self.text()).map(str::to_string).collect())
    }

    /// A name that is neither in the text nor in `given`: `wanted`, with a number appended if it is taken.
    pub fn fresh(&self, wanted: &str, given: &[String]) -> String {
        let used = self.words();
        numbered(wanted, 1, |name| !used.contains(name) && !given.iter().any(|given| given == name)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_text_has_gets_a_number() {
        let tree = SyntaxTree::example("a.cu", "int a; // a_2\n");
        let fresh = |wanted: &str, given: &[&str]| {
            tree.fresh(wanted, &given.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!((fresh("b", &[]).as_str(), fresh("b", &["b"]).as_str()), ("b", "b_2"));
        assert_eq!((fresh("a", &[]).as_str(), fresh("a", &["a_3"]).as_str()), ("a_3", "a_4"));
    }
}
