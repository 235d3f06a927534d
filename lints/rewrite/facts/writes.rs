//! Where the name of a variable stands that may be written there.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::Node;
use cuda_syntax::tree::{access_path, role};

use super::pointees::is_pointee;
use super::unseen::is_given_by_value;

/// Whether a name of a variable stands where the variable, or a part of it, may be written: as the target of an assignment, or as an
/// argument.
pub fn may_be_written(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let part = access_path(name);
    role(part).1 && !is_given_by_value(tree, part) && !is_pointee(tree, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_syntax::tree::enclosing_function;

    #[test]
    fn elements_behind_pointers_are_no_parts() {
        for (statement, expected) in [
            ("p.out[i] = 1;", false),
            ("p.rows[1][i] = 1;", false),
            ("p.out[i]++;", false),
            ("p.of_array[1][i] = 1;", true),
            ("p.out = q;", true),
            ("p.rows[1] = q;", true),
            ("p.own[i] = 1;", true),
            ("p.named[i] = 1;", true),
            ("p.n = 1;", true),
            ("++p.out;", true),
            ("r.out[i] = 1;", true),
            ("i = p.n;", false),
            ("value(p.n);", false),
            ("value(p.own[i]);", false),
            ("change(p.n);", true),
            ("change(p.own[i]);", true),
            ("unknown(p.n);", true),
        ] {
            let text = format!(
                "typedef float *Pointer; struct P {{ float *out; float *__restrict__ rows[4]; float (*of_array)[4]; float own[8]; Pointer named; int n; }};\n\
                __device__ void value(int i); __device__ void change(int &i); __device__ void change(float &i);\n\
                __global__ void k(P p, float *q, int i) {{ P &r = p; {statement} }}\n"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            let at = text.rfind(statement).unwrap();
            let function = tree.node_at(at).and_then(enclosing_function).unwrap();
            let name = |word: &str| tree.named(function, word).find(|it| it.start_byte() >= at);
            let name = if statement.contains("r.out") { name("r") } else { name("p") };
            assert_eq!(may_be_written(&tree, name.unwrap()), expected, "{statement}");
        }
    }

    #[test]
    fn pointers_may_lead_back_to_their_object() {
        for (members, expected) in [
            ("float *out; int n;", false),
            ("float *out = nullptr; int n = 4;", false),
            ("int n; int *out = &n;", true),
            ("int n; int *out; P() : out(&n) {}", true),
            ("int n; int *out; __device__ P(int n);", true),
        ] {
            let text = format!("struct P {{ {members} }};\n__global__ void k(int i) {{ P p; p.out[i] = 1; }}\n");
            let tree = SyntaxTree::example("a.cu", &text);
            let at = text.rfind("p.out").unwrap();
            let function = tree.node_at(at).and_then(enclosing_function).unwrap();
            let name = tree.named(function, "p").find(|it| it.start_byte() >= at).unwrap();
            assert_eq!(may_be_written(&tree, name), expected, "{members}");
        }
    }
}
