//! Definitions of macros within parentheses and lists of values: `{ #define X(name, rgb) Rgb(rgb), … #undef X }`.
//!
//! The grammar knows them between statements only. They are blanked out for the parser: one of them would else tear its
//! statement apart, and no edit is made in a function with errors. What uses of the macro become is known from the compiler.

use std::ops::Range;

use lmem_unit::{Token, TokenKind, each_token};

/// The `#define` and `#undef` within parentheses and lists of values, in order.
pub fn definitions_in_lists(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut open, mut before) = (Vec::new(), Vec::new(), "");
    let has_some = text.contains("#undef") || text.contains("#define");
    for Token { kind, range, .. } in each_token(if has_some { text } else { "" }) {
        let word = &text[range.clone()];
        if kind == TokenKind::Directive {
            let name = word[1..].trim_start();
            let is_definition = name.starts_with("define") || name.starts_with("undef");
            found.extend(Some(range).filter(|_| is_definition && open.last() == Some(&true)));
            continue;
        }
        match word {
            "(" | "[" => open.push(true),
            "{" => open.push(before == "=" || (!matches!(before, ")" | "]") && open.last() == Some(&true))),
            ")" | "]" | "}" => drop(open.pop()),
            _ => {}
        }
        before = word;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SyntaxTree;

    #[test]
    fn definitions_in_lists_are_not_parsed() {
        let text = "#define ALL(X) X(1) X(2)\n__device__ int f(int n) {\n    const int t[] = {\n#define X(v) v,\n        ALL(X)\n#undef X\n    };\n    return t[n];\n}\n";
        let found: Vec<&str> = definitions_in_lists(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["#define X(v) v,", "#undef X"]);
        let tree = SyntaxTree::example("a.cu", text);
        assert!(!tree.root().unwrap().has_error());
        // The compiled text knows the values, and an edit of another variable is possible.
        let at = text.find("return").unwrap();
        assert!(tree.insertion(at, "n = 0; ").is_some());
    }

    #[test]
    fn other_directives_stay() {
        for text in [
            "void f() {\n#define X 1\n int a[X];\n#undef X\n}",
            "#define X 1\nint a[] = {\n#if X\n 1,\n#endif\n 2};",
            "struct S {\n#define X 1\n int a;\n};",
            "auto f = [] (int n) {\n#define X 1\n return n;\n};",
            "void f() { g([&](int n) {\n#define X 1\n h(n);\n}); }",
        ] {
            assert!(definitions_in_lists(text).is_empty(), "{text}");
        }
    }
}
