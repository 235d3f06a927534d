//! Keeps an array of flags as the bits of one integer: `bool seen[64]` becomes `unsigned long long seen`. A register
//! holds it, and a computed index is a shift.
//!
//! Reading an element becomes a shift and a mask, writing one an `|=` or `&=` of its bit. Each index is evaluated where
//! and as often as before. An index outside the array was undefined, and so is a shift by more bits than there are.
//! Integers that are only assigned 0, 1 and conditions are such flags too. An array of rows of flags becomes an array of
//! integers, one for each row.

mod cleared;
mod flags;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{enclosing_function, resolve};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use self::cleared::{cleared_by_calls, clearing_loop};
use self::flags::{Flags, index_of};
use super::Rewrite;
use super::facts::evaluation::{is_in_lambda, site};
use super::facts::purity::is_pure_call;
use super::shared::columns::{Use, before_statement, uses_beside, zero};
use super::shared::declaration::{Declared, PrivateVariable, declared, private_variable};

/// The integers for up to so many flags, with the suffix of their literals.
const INTEGERS: [(i64, &str, &str); 2] = [(32, "unsigned", "u"), (64, "unsigned long long", "ull")];

/// The array as bits of an integer, if every use is an element that is read or assigned.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    let variable = private_variable(object).filter(|_| object.escapes().is_empty())?;
    let name = object.variable.as_ref()?.name.clone();
    let Packed { edits, bits, is_of_integers, has_rows } = edits(&variable, object.elements())?;
    let applicability = if is_of_integers { Applicability::MaybeIncorrect } else { Applicability::MachineApplicable };
    let rewrite = Rewrite::new(applicability, edits);
    let rewrite = rewrite.within_kernel(variable.is_of_kernel).keeping_loops(true);
    let title = match has_rows {
        true => format!("keep each row of `{name}` as the bits of a {bits}-bit integer"),
        false => format!("keep `{name}` as the bits of a {bits}-bit integer"),
    };
    Some(rewrite.suggestion(title))
}

/// Types whose arrays may hold flags beside `bool`.
const FLAG_TYPES: [&str; 13] = [
    "int",
    "unsigned",
    "unsigned int",
    "short",
    "unsigned short",
    "char",
    "signed char",
    "unsigned char",
    "int8_t",
    "uint8_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
];

struct Packed {
    edits: Vec<Edit>,
    /// The number of bits of the integer.
    bits: i64,
    /// Whether the flags were integers.
    is_of_integers: bool,
    /// Whether there is an integer for each row.
    has_rows: bool,
}

/// `compiled` is the number of flags of the instance that was compiled, where the array is that of a template.
fn edits(variable: &PrivateVariable, compiled: Option<u64>) -> Option<Packed> {
    let tree = &*variable.tree;
    let declared = declared(tree, variable.offset)?;
    let type_node = declared.statement.field(Field::Type)?;
    let (rows, extent) = match declared.extents.as_slice() {
        [extent] => (None, *extent),
        [rows, extent] => (Some(*rows), *extent),
        _ => return None,
    };
    let settled = tree.settled_value_of(extent);
    let of_instance = || i64::try_from(compiled.filter(|_| is_of_template(tree, &declared))?).ok();
    let elements = settled.or_else(of_instance)?;
    let integer = Some(tree.slice(type_node)).filter(|name| FLAG_TYPES.contains(name));
    let is_of_flags = (tree.slice(type_node) == "bool" || integer.is_some()) && !declared.is_of_pointers;
    let (bits, type_text, suffix) = INTEGERS.into_iter().find(|(bits, ..)| (1..=*bits).contains(&elements))?;
    let starts_at_zero = match declared.initializer {
        Some(initializer) => zero(tree, &declared, initializer).is_some(),
        None => true,
    };
    if !is_of_flags || !starts_at_zero {
        return None;
    }
    let flags = Flags { tree, name: tree.slice(declared.name), one: format!("1{suffix}"), integer };
    let mut edits = flags.declaration(&declared, (type_node, type_text), rows)?;
    if settled.is_none() {
        let enough = format!("static_assert({} <= {bits}, \"one bit for each\");", tree.slice(extent));
        edits.push(before_statement(tree, declared.statement, &enough)?);
    }
    let calls = cleared_by_calls(tree, &declared)?;
    edits.extend(calls.iter().map(|call| call.edit(tree, rows.is_some())).collect::<Option<Vec<_>>>()?);
    let beside: Vec<_> = calls.iter().map(|call| call.statement.byte_range()).collect();
    let element = |used: &Use| used.element(tree, declared.extents.len());
    let elements: Vec<Node<'_>> = uses_beside(tree, &declared, &beside)?.iter().map(element).collect::<Option<_>>()?;
    // A lambda may change flags while an index or a value is computed, before or after the integer is read.
    let is_shared = elements.iter().any(|element| is_in_lambda(*element));
    if is_shared && !elements.iter().all(|element| is_undisturbed(tree, *element)) {
        return None;
    }
    // The integer begins with 0, and needs no loop that makes each flag false.
    let is_first = declared.initializer.is_none() && rows.is_none() && calls.is_empty();
    let cleared = elements.first().filter(|first| is_first && index_of(tree, **first).is_some());
    let cleared = cleared.and_then(|first| clearing_loop(tree, declared.statement, *first));
    if let Some(cleared) = cleared {
        edits.push(tree.replacement(tree.without_blanks(cleared.byte_range()), "")?);
    }
    let stays =
        |element: &Node<'_>| cleared.is_none_or(|cleared| !cleared.byte_range().contains(&element.start_byte()));
    for element in elements.into_iter().filter(stays).filter(|element| !flags.is_beside_toggled(*element)) {
        edits.extend(flags.element(element)?);
    }
    Some(Packed { edits, bits, is_of_integers: integer.is_some(), has_rows: rows.is_some() })
}

/// Whether the extent of an array is a template's parameter, and nothing else is declared beside it.
fn is_of_template(tree: &SyntaxTree, declared: &Declared<'_>) -> bool {
    let is_alone = declared.statement.fields(Field::Declarator).count() == 1;
    let [extent] = declared.extents.as_slice() else { return false };
    let name = tree.slice(*extent);
    let is_parameter = extent.kind() == Kind::Identifier && tree.is_template_parameter(name, extent.start_byte());
    let all = enclosing_function(*extent).map(|function| tree.declarations(function));
    let is_hidden = all.is_none_or(|all| resolve(&all, name, extent.start_byte()).is_some());
    is_alone && is_parameter && !is_hidden && tree.is_fixed(name, extent.start_byte())
}

/// Whether no function with effects is called while the statement that has an element computes: the integer is read
/// once, and the array was read at each element.
fn is_undisturbed(tree: &SyntaxTree, element: Node<'_>) -> bool {
    let Some((statement, _)) = site(element) else { return false };
    let evaluated = match statement.kind() {
        Kind::IfStatement | Kind::SwitchStatement => statement.field(Field::Condition).unwrap_or(statement),
        _ => statement,
    };
    let is_call = |node: Node<'_>| node.kind() == Kind::CallExpression && !is_pure_call(tree, node);
    !evaluated.descendants_through(|node, _| node.kind() != Kind::LambdaExpression).any(is_call)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use cuda_syntax::identifiers::occurrences;
    use lmem_base::edit::apply;

    /// The body with the flags `seen` as bits.
    fn bits(body: &str) -> Option<String> {
        let head = "struct View { const bool& one; View(const bool& one) : one(one) {} };\n\
            struct Slot { int at; Slot(int at); operator int() const; };\n\
            template <int N> __global__ void k(const int* in, int* out, int n) {\n";
        let text = format!("{head}{body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let offset = head.len() + occurrences(body, "seen").next()?;
        let Packed { edits, .. } = edits(&PrivateVariable::at(&tree, offset)?, Some(40))?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited.strip_prefix(head)?.strip_suffix("\n}\n")?.to_string())
    }

    #[test]
    fn flags_become_bits() {
        for (before, after) in [
            (
                "bool seen[64] = {false}; if (!seen[in[n] & 63]) seen[in[n] & 63] = true;",
                "unsigned long long seen = 0; if (!(seen >> (in[n] & 63) & 1)) seen |= 1ull << (in[n] & 63);",
            ),
            ("bool seen[8] = {}; if (seen[n]) n = 1;", "unsigned seen = 0; if (seen >> n & 1) n = 1;"),
            (
                "bool seen[26]; for (int i = 0; i < 26; ++i) seen[i] = false; seen[n] = true;",
                "unsigned seen = 0; seen |= 1u << n;",
            ),
            ("bool seen[26]; for (int i = 0; i < 26; i++) { seen[i] = 0; } n = 1;", "unsigned seen = 0; n = 1;"),
            (
                "bool seen[26]; for (; n < 26; ++n) seen[n] = false; for (int i = 0; i < 26; ++i) seen[i] = false;",
                "unsigned seen = 0; for (; n < 26; ++n) seen &= ~(1u << n); for (int i = 0; i < 26; ++i) seen &= ~(1u << i);",
            ),
            (
                "bool seen[26]; for (int i = 0; i < 26; n = ++i) seen[i] = false; for (int i = 0; i < 26; ++i) { seen[i] = false; n++; }",
                "unsigned seen = 0; for (int i = 0; i < 26; n = ++i) seen &= ~(1u << i); for (int i = 0; i < 26; ++i) { seen &= ~(1u << i); n++; }",
            ),
            (
                "bool seen[26]; while (n--) { for (int i = 0; i < 26; ++i) seen[i] = false; seen[n] = true; }",
                "unsigned seen = 0; while (n--) { for (int i = 0; i < 26; ++i) seen &= ~(1u << i); seen |= 1u << n; }",
            ),
            ("bool seen[8] = {}; seen[n + 1] = !seen[n + 1];", "unsigned seen = 0; seen ^= 1u << (n + 1);"),
            (
                "bool seen[8] = {}; seen[n] = !seen[0];",
                "unsigned seen = 0; seen = (!(seen >> 0 & 1)) ? seen | 1u << n : seen & ~(1u << n);",
            ),
            (
                "bool seen[8] = {}; out[n] = seen[n] + 1; while (n && seen[in[0]]) n = in[n];",
                "unsigned seen = 0; out[n] = ((seen >> n & 1) != 0) + 1; while (n && (seen >> in[0] & 1)) n = in[n];",
            ),
            (
                "bool seen[8] = {}; seen[n] = in[n] > seen[n + 1];",
                "unsigned seen = 0; seen = (in[n] > ((seen >> (n + 1) & 1) != 0)) ? seen | 1u << n : seen & ~(1u << n);",
            ),
            // A call that cannot reach the flags, and a lambda that is called by itself.
            (
                "bool seen[8] = {}; seen[max(n++, 1)] = in[n] > 0;",
                "unsigned seen = 0; seen = (in[n] > 0) ? seen | 1u << max(n++, 1) : seen & ~(1u << max(n++, 1));",
            ),
            (
                "bool seen[8] = {}; auto mark = [&](int i) { seen[i] = true; }; mark(3); out[0] = seen[max(n, 1)];",
                "unsigned seen = 0; auto mark = [&](int i) { seen |= 1u << i; }; mark(3); out[0] = ((seen >> max(n, 1) & 1) != 0);",
            ),
            // Other assignments, and values that others take.
            (
                "bool seen[8] = {}; seen[n] |= in[n] & 4; seen[n++] &= in[n]; seen[n] ^= in[0] > n;",
                "unsigned seen = 0; seen |= ((in[n] & 4) ? 1u : 0u) << n; seen &= ~((((in[n]) & 1) ? 0u : 1u) << (n++)); \
                 seen ^= ((in[0] > n) ? 1u : 0u) << n;",
            ),
            (
                "bool seen[8] = {}; out[0] = seen[n] = true; seen[0] = seen[n] = false;",
                "unsigned seen = 0; out[0] = (seen |= 1u << n, true); seen &= ~(1u << 0); seen &= ~(1u << n);",
            ),
            (
                "bool seen[8] = {}; if (n) seen[0] = seen[n] = false;",
                "unsigned seen = 0; if (n) \
                 seen = (((seen &= ~(1u << n), false)) != 0) ? seen | 1u << 0 : seen & ~(1u << 0);",
            ),
            // Rows.
            (
                "bool seen[3][10] = {}; if (seen[0][n] || seen[1][in[0]]) n = 1; seen[0][n] = seen[1][n + 1] = seen[2][0] = true;",
                "unsigned seen[3] = {}; if ((seen[0] >> n & 1) || (seen[1] >> in[0] & 1)) n = 1; \
                 seen[0] |= 1u << n; seen[1] |= 1u << (n + 1); seen[2] |= 1u << 0;",
            ),
            (
                "bool seen[2][40]; memset(seen, 0, sizeof(seen)); seen[1][n] = in[n] > 0; out[0] = seen[in[0]][n];",
                "unsigned long long seen[2] = {}; seen[1] = (in[n] > 0) ? seen[1] | 1ull << n : seen[1] & ~(1ull << n); \
                 out[0] = ((seen[in[0]] >> n & 1) != 0);",
            ),
            // Cleared by a call, at first and again.
            (
                "char seen[64]; memset(seen, 0, sizeof seen); while (n--) { seen[n] = 1; if (n & 1) memset(seen, 0, 64); } out[0] = !seen[n];",
                "unsigned long long seen = 0; while (n--) { seen |= 1ull << n; if (n & 1) seen = 0; } out[0] = !(seen >> n & 1);",
            ),
            // Of a template, of which 40 flags were compiled.
            (
                "bool seen[N]; for (int i = 0; i < N; ++i) seen[i] = false; if (seen[n]) seen[0] = true;",
                "static_assert(N <= 64, \"one bit for each\");\nunsigned long long seen = 0; if (seen >> n & 1) seen |= 1ull << 0;",
            ),
            (
                "bool seen[N]; memset(seen, 0, sizeof(seen)); if (seen[n]) seen[0] = true;",
                "static_assert(N <= 64, \"one bit for each\");\nunsigned long long seen = 0; if (seen >> n & 1) seen |= 1ull << 0;",
            ),
            // Integers that are only flags.
            (
                "int seen[24] = {0}; if (seen[n]) ++n; seen[n] = 1; seen[n + 1] = 0; out[0] += seen[n % 24] << 2;",
                "unsigned seen = 0; if (seen >> n & 1) ++n; seen |= 1u << n; seen &= ~(1u << (n + 1)); \
                 out[0] += (int)(seen >> (n % 24) & 1) << 2;",
            ),
            (
                "unsigned char seen[40] = {}; seen[n] = in[n] > 3; seen[n] |= !n; seen[n] &= in[0]; auto x = seen[0];",
                "unsigned long long seen = 0; seen = (in[n] > 3) ? seen | 1ull << n : seen & ~(1ull << n); \
                 seen |= ((!n) ? 1ull : 0ull) << n; seen &= ~((((in[0]) & 1) ? 0ull : 1ull) << n); \
                 auto x = (unsigned char)(seen >> 0 & 1);",
            ),
            // The value's own index has another element of the array.
            (
                "bool seen[8] = {}; seen[seen[n] ? 1 : 2] = true;",
                "unsigned seen = 0; seen |= 1u << ((seen >> n & 1) ? 1 : 2);",
            ),
        ] {
            assert_eq!(bits(before).as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn what_is_more_than_flags_is_left_alone() {
        for body in [
            "bool seen[65] = {}; seen[n] = true;",
            // Comments would be lost.
            "bool seen[8] = {}; seen[n] = /* mark */ true;",
            "bool seen[8] = {}; seen[/* mark */ n] = true;",
            "bool seen[8] = {}; seen[0] = /* one */ seen[n] = true;",
            // Rows that are counted on the way, or are of more flags than an integer has bits.
            "bool seen[4][4] = {}; seen[n++][n] = true;",
            "bool seen[4][65] = {}; seen[n][n] = true;",
            "bool seen[2][2][8] = {}; seen[1][n][n] = true;",
            "bool seen[4][4] = {}; f(seen[n]);",
            "bool seen[4][4] = {}; bool* row = seen[n]; row[0] = true;",
            // Not all of it, to something else, or while it is a row of integers.
            "char seen[24]; memset(seen, 1, sizeof seen); seen[n] = 1;",
            "char seen[24]; memset(seen + 1, 0, 23); seen[n] = 1;",
            "char seen[24]; n = 1; memset(seen, 0, 8); seen[n] = 1;",
            "char seen[24]; void* p = memset(seen, 0, sizeof seen); seen[n] = 1;",
            "char seen[4][24]; n = 1; memset(seen, 0, sizeof seen); seen[0][n] = 1;",
            "char seen[24]; auto memset = [&](char* p, int v, int n) { p[0] = 1; }; memset(seen, 0, 24); seen[n] = 1;",
            "char seen[24]; auto clear = [=]() mutable { memset(seen, 0, sizeof seen); }; seen[n] = 1; clear();",
            // Integers that may have other values, or are asked for their type.
            "int seen[8] = {}; seen[n] = 2;",
            "int seen[8] = {}; seen[n] = in[n];",
            "int seen[8] = {}; seen[n] = in[n] & 1;",
            "int seen[8] = {}; seen[n]++;",
            "int seen[8] = {}; seen[n] += 1;",
            "int seen[8] = {}; seen[n] |= in[n];",
            "int seen[8] = {}; seen[n] ^= in[n];",
            "int seen[8] = {1}; seen[n] = 0;",
            "int seen[8] = {}; seen[n] = -1;",
            "int seen[8] = {}; out[0] = take(seen[n]);",
            "int seen[8] = {}; int* p = &seen[n]; *p = 1;",
            "int seen[8] = {}; atomicAdd(&seen[n], 1);",
            "long seen[8] = {}; seen[n] = 1;",
            "float seen[8] = {}; seen[n] = 1;",
            "volatile bool seen[8] = {}; seen[n] = true;",
            "bool seen[8] = {true}; seen[n] = true;",
            // Used as a whole, or by reference.
            "bool seen[8] = {}; f(seen);",
            "bool seen[8] = {}; bool* p = &seen[n]; *p = true;",
            "bool seen[8] = {}; const bool& one = seen[n]; seen[n] = true; out[0] = one;",
            "bool seen[8] = {}; const bool& one = n ? seen[n] : seen[1]; seen[n] = true; out[0] = one;",
            "bool seen[8] = {}; out[0] = take(seen[n]);",
            "bool seen[8] = {}; View view{seen[n]}; seen[n] = true; out[0] = view.one;",
            "bool seen[8] = {}; View view(seen[n]); seen[n] = true; out[0] = view.one;",
            "bool seen[8] = {}; auto get = [&]() -> const bool& { return seen[n]; }; seen[n] = true; out[0] = get();",
            "bool seen[8] = {}; for (bool one : seen) out[0] += one;",
            // A function that the index or the value calls changes flags.
            "bool seen[8] = {}; auto slot = [&](int i) { seen[0] = false; return i; }; seen[slot(n)] = in[n] > 0;",
            "bool seen[8] = {}; auto slot = [&](int i) { seen[0] = false; return i; }; seen[slot(n)] = true;",
            "bool seen[8] = {}; auto slot = [&](int i) { seen[0] = false; return i; }; out[0] = seen[slot(n)];",
            "bool seen[8] = {}; auto slot = [&](int i) { seen[0] = false; return i; }; if (seen[slot(n)]) out[0] = 1;",
            "bool seen[8] = {}; auto keep = [&](bool one) { seen[0] = one; return one; }; seen[n] = keep(in[n] > 0);",
            "bool seen[8] = {}; auto keep = [&](bool one) { seen[0] = one; return one; }; out[0] = seen[n] + keep(true);",
            "bool seen[8] = {}; auto slot = [&](int i) { seen[0] = false; return i; }; while (seen[slot(n)]) ++n;",
            // The value of an assignment to a class or in a condition, and assignments that keep more than a flag.
            "bool seen[8] = {}; Slot slot = n; slot = seen[n] = true;",
            "bool seen[8] = {}; if (seen[n] = true) n = 1;",
            "bool seen[8] = {}; out[0] = seen[n] = in[n] > 0;",
            "bool seen[8] = {}; seen[n] ^= in[n];",
            "bool seen[8] = {}; seen[n] += in[n];",
            "bool seen[8] = {}; out[0] = seen[n] |= true;",
            "bool seen[8] = {}; seen[seen[0] ? 1 : 2] |= in[n] > 0;",
            "bool seen[8] = {}; (seen[n]) = true;",
            // The index would be written twice, with the array in it.
            "bool seen[8] = {}; seen[seen[n] ? 1 : 2] = in[n] > 0;",
            // Classes, whose operators and conversions may mean anything.
            "bool seen[8] = {}; View view = seen[n]; seen[n] = true; out[0] = view.one;",
            "bool seen[8] = {}; Slot slot = n; seen[slot] = true;",
            "bool seen[8] = {}; Slot slot = n; out[0] = seen[slot];",
            "bool seen[8] = {}; Slot slot = n; out[0] = seen[slot + 1];",
            "bool seen[8] = {}; Slot slot = n; out[0] = seen[n ? slot : n];",
            "bool seen[8] = {}; seen[unknown(n)] = true;",
            "bool seen[8] = {}; Slot slot = n; seen[n] = slot;",
            "bool seen[8] = {}; seen[n] = unknown(n);",
            "bool seen[8] = {}; Slot slot = n; out[0] = slot + seen[n];",
            "bool seen[8] = {}; Slot slot = n; slot = seen[n];",
            "bool seen[8] = {}; Slot slot = n; slot += seen[n];",
            "bool seen[8] = {}; Slot slots[2]; out[0] = slots[seen[n]].at;",
            "bool seen[8] = {}; List list; out[0] = list[seen[n]];",
            // What the array's type is.
            "bool seen[8] = {}; seen[n] = true; out[0] = rank<decltype(seen)>();",
            "bool seen[8] = {}; seen[n] = true; decltype(seen[0]) one = seen[0]; out[0] = one;",
            "bool seen[8] = {}; seen[n] = true; out[0] = std::size(seen);",
            "bool seen[8] = {}; seen[n] = true; __typeof__(seen) other; f(other);",
        ] {
            assert_eq!(bits(body), None, "{body}");
        }
    }
}
