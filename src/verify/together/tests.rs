use lmem_base::diagnostic::{Applicability, Diagnostic, Edit, ResourceUsage, Suggestion};
use lmem_base::edit;
use lmem_base::source::{SourceFile, Span};

use super::merge::merge;
use super::takers;
use super::words::title;
use crate::report::samples;
use crate::verify::Verdict;
use crate::verify::compare::Fault;

/// Edits of one member: what is replaced, the first place of it after a mark, and the new text. An empty text is an
/// insertion before the mark.
fn member(text: &str, list: &[(&str, &str, &str)]) -> Vec<Edit> {
    let file = SourceFile::from_text("a.cu", text);
    let edit = |(mark, replaced, new): &(&str, &str, &str)| {
        let from = text.find(mark).unwrap();
        let start = from + text[from..].find(replaced).unwrap();
        Edit::alone(Span::new(&file, start..start + replaced.len()), *new)
    };
    list.iter().map(edit).collect()
}

/// The text with the edits of all members.
fn merged(text: &str, members: &[&[(&str, &str, &str)]]) -> Option<String> {
    // One file for all: spans of one run share it.
    let all = merge(members.iter().map(|list| member(text, list)).collect())?;
    edit::apply(text, &all.iter().collect::<Vec<_>>())
}

#[test]
fn selects_of_one_statement_are_nested() {
    let text = "{\n    cell[axis] += step[axis];\n}";
    let step: &[_] = &[("cell", "", "int s = step[0];\n    "), ("step", "step[axis]", "s")];
    let cell: &[_] = &[("cell", "cell[axis] += step[axis];", "const auto v = step[axis];\n    pick(cell, axis, v);")];
    let expected = "{\n    int s = step[0];\n    const auto v = s;\n    pick(cell, axis, v);\n}";
    assert_eq!(merged(text, &[step, cell]).as_deref(), Some(expected));
    assert_eq!(merged(text, &[cell, step]).as_deref(), Some(expected));
    // Which of the two would be edited?
    let twice: &[_] = &[("cell", "cell[axis] += step[axis];", "pick(cell, axis, step[axis], step[axis]);")];
    assert_eq!(merged(text, &[step, twice]), None);
    // The text is a part of a longer name.
    let longer: &[_] = &[("cell", "cell[axis] += step[axis];", "pick(cell, axis, first_step[axis]);")];
    assert_eq!(merged(text, &[step, longer]), None);
}

#[test]
fn conditions_stand_before_nothing_new() {
    let text = "for (int e = 0; e < n; ++e) a[e] += b[j];";
    let guard: &[_] = &[("a[e]", "", "if (e < n) ")];
    let read: &[_] = &[("a[e]", "", "float b_element = pick(b, j);\n"), ("b[j]", "b[j]", "b_element")];
    assert_eq!(merged(text, &[guard, read]), None);
    assert_eq!(merged(text, &[read, guard]), None);
    let written: &[_] = &[("a[e]", "a[e] += b[j];", "float v = b[j];\nput(a, e, v);")];
    assert_eq!(merged(text, &[guard, written]), None);
    // Both want the same.
    assert_eq!(merged(text, &[guard, guard]).as_deref(), Some("for (int e = 0; e < n; ++e) if (e < n) a[e] += b[j];"));
    // Of two that begin at one place, the one that ends first comes first.
    let other: &[_] = &[("a[e]", "", "float c = 1;\n")];
    let expected = "for (int e = 0; e < n; ++e) float c = 1;\nfloat b_element = pick(b, j);\na[e] += b_element;";
    assert_eq!(merged(text, &[read, other]).as_deref(), Some(expected));
}

const COLUMN: &str = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n    ";

#[test]
fn variables_of_one_statement_are_declared_in_their_order() {
    let text = "{\n    int cell[3], step[3], size = 3;\n    cell[0] = step[0];\n}";
    let cell_lines = format!("const unsigned cell_column = {COLUMN}__shared__ int cell_of_block[3][64];\n    ");
    let step_lines = format!("const unsigned step_column = {COLUMN}__shared__ int step_of_block[3][64];\n    ");
    let cell: &[_] = &[
        ("int cell", "", cell_lines.as_str()),
        ("int cell", "cell[3], ", ""),
        ("cell[0]", "cell[0]", "cell_of_block[0][cell_column]"),
    ];
    let step: &[_] = &[
        ("int cell", "", step_lines.as_str()),
        ("step[3]", "step[3], ", ""),
        ("step[0]", "step[0]", "step_of_block[0][step_column]"),
    ];
    let column = COLUMN.trim_end();
    let expected = format!(
        "{{\n    const unsigned cell_column = {column}\n    __shared__ int cell_of_block[3][64];\n    __shared__ int \
         step_of_block[3][64];\n    int size = 3;\n    cell_of_block[0][cell_column] = \
         step_of_block[0][cell_column];\n}}"
    );
    for members in [[cell, step], [step, cell]] {
        assert_eq!(merged(text, &members), Some(expected.clone()));
    }
}

#[test]
fn rows_of_one_statement_are_declared_in_their_order() {
    let text = "{\n    float y[N], k[N], acc[N];\n    f(y, k, acc);\n}";
    let row = |name: &str| format!("__shared__ float {name}_of_block[64][N];\n    auto &{name} = {name}_of_block[id];");
    let y = format!("{}\n    float k[N], acc[N];", row("y"));
    let k = format!("float y[N];\n    {}\n    float acc[N];", row("k"));
    let all = "float y[N], k[N], acc[N];";
    let expected = format!("{{\n    {}\n    {}\n    float acc[N];\n    f(y, k, acc);\n}}", row("y"), row("k"));
    assert_eq!(merged(text, &[&[("float", all, &y)], &[("float", all, &k)]]), Some(expected));
    // What is declared anew is not what was there.
    let other = k.replace("float acc[N]", "double acc[N]");
    assert_eq!(merged(text, &[&[("float", all, &y)], &[("float", all, &other)]]), None);
}

#[test]
fn pointers_of_one_statement_stay_behind_their_arrays() {
    let text = "{\n    int a[3], b[3], *cur = a, *next = b;\n    swap(cur, next);\n}";
    let whole = "int a[3], b[3], *cur = a, *next = b;";
    let of_a = "__shared__ int a_rows[64][3];\n    auto &a = a_rows[threadIdx.x];\n    int b[3], *cur = a, *next = b;";
    let of_b = "int a[3];\n    __shared__ int b_rows[64][3];\n    auto &b = b_rows[threadIdx.x];\n    int *cur = a, *next = b;";
    let expected = "{\n    __shared__ int a_rows[64][3];\n    auto &a = a_rows[threadIdx.x];\n    __shared__ int b_rows[64][3];\n    \
                    auto &b = b_rows[threadIdx.x];\n    int *cur = a, *next = b;\n    swap(cur, next);\n}";
    let (a, b): (&[_], &[_]) = (&[("int a", whole, of_a)], &[("int a", whole, of_b)]);
    assert_eq!(merged(text, &[a, b]).as_deref(), Some(expected));
    // A product is no pointer, and a constant pointer's words are not those of all.
    for other in ["int a[3], b[3], c = 2 * n;", "int *const p = q, a[3], b[3];"] {
        let text = text.replace(whole, other);
        let (a, b): (&[_], &[_]) = (&[("{", other, "int d;")], &[("{", other, "int e;")]);
        assert_eq!(merged(&text, &[a, b]), None, "{other}");
    }
}

#[test]
fn a_column_is_declared_where_both_see_it() {
    let lines = |name: &str| format!("const unsigned {name}_column = {COLUMN}__shared__ ");
    let edited = |text: &str| {
        let (a, b) = (lines("a"), lines("b"));
        let a: &[_] = &[("int a", "", a.as_str()), ("use(a", "a[0]", "a[0][a_column]")];
        let b: &[_] = &[("int b", "", b.as_str()), ("use(b", "b[0]", "b[0][b_column]")];
        merged(text, &[a, b]).unwrap()
    };
    let of_one = edited("{ int a[3]; { use(a[0]); } int b[3]; use(b[0]); }");
    assert!(of_one.contains("b[0][a_column]") && !of_one.contains("b_column"), "{of_one}");
    let of_two = edited("{ { int a[3]; use(a[0]); } int b[3]; use(b[0]); }");
    assert!(of_two.contains("unsigned b_column") && of_two.contains("b[0][b_column]"), "{of_two}");
}

#[test]
fn titles_say_once_what_holds_for_all() {
    let select = "replace the dynamic index by an unrolled select";
    assert_eq!(title(&[("a", select), ("b", select)]), format!("for each of `a` and `b`, {select}"));
    let shared = |name: &str| format!("move `{name}` to shared memory (8 KiB); replace 64 by your largest block size");
    let (a, b, c) = (shared("a"), shared("b"), shared("c"));
    assert_eq!(
        title(&[("a", &a), ("b", &b), ("c", &c)]),
        "move each of `a`, `b` and `c` to shared memory (8 KiB); replace 64 by your largest block size"
    );
    assert_eq!(
        title(&[("a", &a), ("k", select), ("b", &b)]),
        format!(
            "together: move `a` to shared memory (8 KiB); for `k`, {select}; move `b` to shared memory (8 KiB); replace \
             64 by your largest block size"
        )
    );
    let from =
        |name: &str, axes: &str| format!("move `{name}`; replace 64 by your block size (64 is from k.cu:9{axes})");
    let (a, b, c) = (from("a", ""), from("b", ", one-dimensional"), from("c", ""));
    assert_eq!(
        title(&[("a", &a), ("b", &b), ("c", &c)]),
        "together: move `a`; move `b`; move `c`; replace 64 by your block size (64 is from k.cu:9, one-dimensional)"
    );
}

#[test]
fn a_finding_without_an_edit_takes_that_of_all() {
    // Finding 0 has no edit of its own, finding 1 a safe one that leaves so many bytes.
    let taken = |left_by_own: u64, left_by_all: u64, applicability: Applicability| {
        let leaves = |bytes: u64| {
            let mut suggestion = samples::proven().suggestions.remove(0);
            suggestion.applicability = Applicability::MachineApplicable;
            let mut proof = suggestion.verification.clone().unwrap();
            for kernel in &mut proof.kernels {
                kernel.after.usage = ResourceUsage { stack_frame: bytes, ..ResourceUsage::default() };
            }
            (suggestion, proof)
        };
        let (own, proof_of_own) = leaves(left_by_own);
        let (all, proof_of_all) = leaves(left_by_all);
        let diagnostics = [samples::proven(), Diagnostic { suggestions: vec![own], ..samples::proven() }];
        let outcomes = [vec![Verdict::Refuted(Fault::NoGain)], vec![Verdict::Proven(proof_of_own)]];
        let all = Suggestion { applicability, ..all };
        takers(&proof_of_all, &all, &[0, 1], &diagnostics, &outcomes)
    };
    assert_eq!(taken(144, 0, Applicability::MachineApplicable), [0, 1]);
    // The safe edit stays where that of all is to be judged.
    assert_eq!(taken(144, 0, Applicability::MaybeIncorrect), [0]);
    assert_eq!(taken(144, 144, Applicability::MachineApplicable), [0usize; 0]);
}
