//! Lines of functions that were not compiled, as another branch of an `#if` has them.
//!
//! The parser sees blanks there. Outside of functions it sees all branches: what another one declares, counts where a fact is asked
//! of a whole text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use lmem_unit::{Blocks, CompiledText, TokenKind, each_token};

use crate::ast::Field;
use crate::identifiers::{identifiers, occurrences};
use crate::tree::syntax_tree::SyntaxTree;

/// The runs of skipped lines that stand in the blocks of functions, in order.
pub fn skipped_in_blocks(text: &str, compiled: &CompiledText) -> Vec<Range<usize>> {
    let mut runs = compiled.skipped(text).into_iter().peekable();
    let (mut found, mut blocks) = (Vec::new(), Blocks::default());
    if runs.peek().is_none() {
        return found;
    }
    for token in each_token(text).filter(|token| token.kind != TokenKind::Directive) {
        while let Some(run) = runs.next_if(|run| run.end <= token.range.start) {
            found.extend(Some(run).filter(|_| blocks.is_within()));
        }
        // What was skipped opens and closes nothing.
        if runs.peek().is_none_or(|run| token.range.start < run.start) {
            blocks.step(text.get(token.range).unwrap_or(""));
        }
    }
    found
}

impl SyntaxTree {
    /// The lines of a range that were skipped and that the parser did not see.
    pub(super) fn skipped_in(&self, range: &Range<usize>) -> &[Range<usize>] {
        let first = self.skipped().partition_point(|lines| lines.end <= range.start);
        let behind = self.skipped().partition_point(|lines| lines.start < range.end);
        self.skipped().get(first..behind).unwrap_or_default()
    }

    /// Whether a range has such lines: in another build, it is another code.
    pub(super) fn has_skipped(&self, range: &Range<usize>) -> bool {
        !self.skipped_in(range).is_empty()
    }

    /// Whether another build may have other code in a range: lines that are skipped here, or a macro with several definitions.
    pub fn differs_in_builds(&self, range: &Range<usize>) -> bool {
        let several = self.kept(Redefined::of);
        let text = self.text().get(range.clone()).unwrap_or("");
        self.has_skipped(range) || (!several.0.is_empty() && identifiers(text).any(|word| several.0.contains(word)))
    }

    /// Whether a word stands in such lines of a range.
    pub fn is_named_where_skipped(&self, range: &Range<usize>, word: &str) -> bool {
        let mut lines = self.skipped_in(range).iter().filter_map(|lines| self.text().get(lines.clone()));
        lines.any(|lines| occurrences(lines, word).next().is_some())
    }

    /// Whether all places of the text that spell a name are identifiers of the tree, with the name: none is that of a type, as a
    /// template's argument may seem to be, none is in a directive, and none in lines that were skipped.
    pub fn shows_all_uses(&self, name: &str) -> bool {
        let spelled = self.kept(Spelled::of).0.get(name).copied().unwrap_or(0);
        self.root().is_some_and(|root| spelled == self.named(root, name).count())
    }
}

/// The macros that a text defines several times.
struct Redefined(HashSet<String>);

impl Redefined {
    fn of(tree: &SyntaxTree) -> Self {
        let mut seen = HashSet::new();
        let names = tree.macro_definitions().filter_map(|node| node.field(Field::Name)).map(|name| tree.slice(name));
        Self(names.filter(|name| !seen.insert(*name)).map(str::to_string).collect())
    }
}

/// How often a text spells each word, but for comments and literals.
struct Spelled(HashMap<String, usize>);

impl Spelled {
    fn of(tree: &SyntaxTree) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut count = |word: &str| match counts.get_mut(word) {
            Some(known) => *known += 1,
            None => drop(counts.insert(word.to_string(), 1)),
        };
        for token in each_token(tree.text()) {
            let text = tree.text().get(token.range.clone()).unwrap_or("");
            match token.kind {
                TokenKind::Identifier => count(text),
                TokenKind::Directive => identifiers(text).for_each(&mut count),
                _ => {}
            }
        }
        Self(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::SourceFile;
    use lmem_unit::MappedText;

    /// A tree of a text whose lines with a bar were not compiled.
    fn tree(text: &str) -> SyntaxTree {
        let (text, compiled) = CompiledText::example_with_skipped(text);
        SyntaxTree::new(MappedText::from_file(&SourceFile::from_text("a.cu", &text)), compiled)
    }

    #[test]
    fn lines_of_functions_that_were_skipped_are_not_parsed() {
        for (text, names) in [
            ("void f() {\n#if A\n| g(1);\n#endif\nh(2); }\n", "f h"),
            ("void f() {\n#if A\n| for (;;) {\n#else\nwhile (c) {\n#endif\nh(2); } }\n", "f c h"),
            // What stands outside of functions, counts.
            ("#if A\n| int n = 3;\n#else\nint n = 4;\n#endif\nvoid f() { h(n); }\n", "n n f h n"),
            ("struct S {\n#if A\n| int n = 3;\n#endif\nint m; };\n", "n m"),
            ("const int t[] = {\n#if A\n| n,\n#endif\nm };\n", "t n m"),
        ] {
            let tree = tree(text);
            let kinds = [crate::ast::Kind::Identifier, crate::ast::Kind::FieldIdentifier];
            let found: Vec<&str> = tree
                .nodes()
                .filter(|node| kinds.contains(&node.kind()) && tree.slice(*node) != "A")
                .map(|node| tree.slice(node))
                .collect();
            assert_eq!(found.join(" "), names, "{text}");
        }
    }

    #[test]
    fn edits_stand_beside_skipped_statements() {
        let tree = tree("__global__ void k(int n) {\n#if A\n| g(1);\n#endif\nint a = n; }\n");
        let at = tree.text().find("int a").unwrap();
        assert!(tree.replacement(at..at + 10, "int b = n;").is_some());
        let from = tree.text().find("{").unwrap() + 1;
        assert!(tree.replacement(from..at + 10, "int b = n;").is_none());
        assert!(tree.is_named_where_skipped(&(0..tree.text().len()), "g") && tree.differs_in_builds(&(0..at)));
    }

    #[test]
    fn code_with_a_macro_of_several_definitions_differs_in_builds() {
        let text = "#ifdef A\n#define MARK() g()\n#else\n#define MARK()\n#endif\nvoid f() { MARK(); }\nvoid h() { }\n";
        let tree = tree(text);
        let at = |needle: &str| tree.text().find(needle).unwrap();
        assert!(tree.differs_in_builds(&(at("void f")..at("void h"))));
        assert!(!tree.differs_in_builds(&(at("void h")..text.len())));
    }

    #[test]
    fn uses_that_the_tree_has_not_are_noticed() {
        for (text, expected) in [
            ("int f(int n) { return n; }\nint g() { return f(1); /* f */ }\n", true),
            ("int f(int n) { return n; }\nBind<f> b;\n", false),
            ("int f(int n) { return n; }\n#define F f\n", false),
            ("int f(int n) { return n; }\nvoid g() {\n#if A\n| f(1);\n#endif\n}\n", false),
        ] {
            assert_eq!(tree(text).shows_all_uses("f"), expected, "{text}");
        }
    }
}
