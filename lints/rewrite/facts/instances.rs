//! The arguments that a text gives to a class template.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Node};
use cuda_syntax::identifiers::occurrences;

/// The argument of a parameter at each mention of a class template outside its definition, as text; `None` if a mention has none: a
/// default stands there, or the compiler finds it.
pub fn arguments_of_instances<'t>(tree: &'t SyntaxTree, class: Node<'t>, parameter: &str) -> Option<Vec<&'t str>> {
    let position = tree.template_parameters(class).iter().position(|name| name == parameter)?;
    let name = tree.slice(class.field(Field::Name)?);
    let (text, own) = (tree.text(), class.byte_range());
    let outside = occurrences(text, name).filter(|at| !own.contains(at));
    let arguments: Vec<&str> =
        outside.map(|at| arguments_at(&text[at + name.len()..])?.get(position).copied()).collect::<Option<_>>()?;
    (!arguments.is_empty() && !tree.is_declared_beside(name)).then_some(arguments)
}

/// The arguments between `<` and `>` at the start of a text.
fn arguments_at(text: &str) -> Option<Vec<&str>> {
    let list = text.trim_start().strip_prefix('<')?;
    let (mut arguments, mut start) = (Vec::new(), 0);
    let (mut angles, mut brackets) = (0_usize, 0_usize);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' => brackets += 1,
            ')' | ']' | '}' => brackets = brackets.checked_sub(1)?,
            _ if brackets > 0 => {}
            '<' => angles += 1,
            ',' | '>' if angles == 0 => {
                arguments.push(list[start..at].trim());
                start = at + 1;
                if c == '>' {
                    return Some(arguments);
                }
            }
            '>' => angles -= 1,
            ';' | '"' | '\'' | '/' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::facts::classes::class_around;

    /// The arguments for `T` of a class template with other text behind it.
    fn arguments(rest: &str) -> Option<Vec<String>> {
        let head = "template <class T, int N> class Vec { T data_[N]; int size_; void push(T v) { data_[size_++] = v; } Vec() {} };\n";
        let text = format!("{head}{rest}");
        let tree = SyntaxTree::example("a.cu", &text);
        let class = class_around(tree.node_at(head.find("push")?)?)?;
        Some(arguments_of_instances(&tree, class, "T")?.into_iter().map(str::to_string).collect())
    }

    #[test]
    fn each_mention_gives_its_argument() {
        for (rest, expected) in [
            ("Vec<float, 8> a; Vec<int, (4 > 3) ? 2 : 1> b;", Some(vec!["float", "int"])),
            ("Vec<Pair<int, int>, 2> a;", Some(vec!["Pair<int, int>"])),
            ("Vec<Vec<char, 2>, 2> a;", Some(vec!["Vec<char, 2>", "char"])),
            ("Vec<> a;", Some(vec![""])),
            ("Vec a(3);", None),
            ("template <template <class, int> class V> struct H {}; H<Vec> h; Vec<int, 2> a;", None),
            ("", None),
        ] {
            let expected = expected.map(|all| all.into_iter().map(str::to_string).collect::<Vec<_>>());
            assert_eq!(arguments(rest), expected, "{rest}");
        }
    }
}
