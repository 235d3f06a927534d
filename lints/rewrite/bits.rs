//! Keeps an array of flags as the bits of one integer: `bool seen[64]` becomes `unsigned long long seen`. A register
//! holds it, and a computed index is a shift.
//!
//! Reading an element becomes a shift and a mask, writing one an `|=` or `&=` of its bit. Each index is evaluated where
//! and as often as before. An index outside the array was undefined, and so is a shift by more bits than there are.
//! Integers that are only assigned 0, 1 and conditions are such flags too.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Field, Kind, Node, Subscript};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::enclosing_function;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::evaluation::{is_in_lambda, site};
use super::facts::number::{is_number, is_number_type};
use super::facts::purity::{is_pure, is_pure_call};
use super::facts::taken::{is_condition, is_value};
use super::shared::columns::{Use, before_statement, beside_others, uses, zero};
use super::shared::declaration::{Declared, PrivateVariable, declared, private_variable};

/// The integers for up to so many flags, with the suffix of their literals.
const INTEGERS: [(i64, &str, &str); 2] = [(32, "unsigned", "u"), (64, "unsigned long long", "ull")];

/// The array as bits of an integer, if every use is an element that is read or assigned.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    let variable = private_variable(object).filter(|_| object.escapes().is_empty())?;
    let name = object.variable.as_ref()?.name.clone();
    let Packed { edits, bits, is_of_integers } = edits(&variable)?;
    let applicability = if is_of_integers { Applicability::MaybeIncorrect } else { Applicability::MachineApplicable };
    let rewrite = Rewrite::new(applicability, edits);
    let rewrite = rewrite.within_kernel(variable.is_of_kernel).keeping_loops(true);
    Some(rewrite.suggestion(format!("keep `{name}` as the bits of a {bits}-bit integer")))
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
}

fn edits(variable: &PrivateVariable) -> Option<Packed> {
    let tree = &*variable.tree;
    let declared = declared(tree, variable.offset)?;
    let type_node = declared.statement.field(Field::Type)?;
    let elements = declared.elements(tree)?;
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
    let mut edits = flags.declaration(&declared, type_node, type_text)?;
    let root = tree.root()?;
    let element = |used: &Use| {
        let name = root.descendant_for_byte_range(used.name.start, used.name.end)?;
        name.parent().filter(|element| element.end_byte() == used.end)
    };
    let elements: Vec<Node<'_>> = uses(tree, &declared)?.iter().map(element).collect::<Option<_>>()?;
    // A lambda may change flags while an index or a value is computed, before or after the integer is read.
    let is_shared = elements.iter().any(|element| is_in_lambda(*element));
    if is_shared && !elements.iter().all(|element| is_undisturbed(tree, *element)) {
        return None;
    }
    // The integer begins with 0, and needs no loop that makes each flag false.
    let cleared = elements.first().filter(|first| declared.initializer.is_none() && index_of(tree, **first).is_some());
    let cleared = cleared.and_then(|first| clearing_loop(tree, declared.statement, *first));
    if let Some(cleared) = cleared {
        edits.push(tree.replacement(tree.without_blanks(cleared.byte_range()), "")?);
    }
    let stays =
        |element: &Node<'_>| cleared.is_none_or(|cleared| !cleared.byte_range().contains(&element.start_byte()));
    for element in elements.into_iter().filter(stays).filter(|element| !flags.is_beside_toggled(*element)) {
        edits.extend(flags.element(element)?);
    }
    Some(Packed { edits, bits, is_of_integers: integer.is_some() })
}

/// The only index of an element, if it is a number: one of class type may have its own `>>`.
fn index_of<'t>(tree: &SyntaxTree, element: Node<'t>) -> Option<Node<'t>> {
    Subscript::of(element)?.index().filter(|index| is_number(tree, *index))
}

/// The loop `for (int i = 0; i < 8; ++i) seen[i] = false;` around the first use, in the block of the declaration, to which nothing leads
/// back.
fn clearing_loop<'t>(tree: &SyntaxTree, declaration: Node<'t>, first: Node<'t>) -> Option<Node<'t>> {
    let assignment = Assignment::of(first.parent()?).filter(|it| it.left() == Some(first))?;
    let is_cleared =
        matches!(assignment.operator(), None | Some("=")) && matches!(tree.slice(assignment.right()?), "false" | "0");
    let statement = assignment.node().parent().filter(|it| it.kind() == Kind::ExpressionStatement)?;
    let around = statement.parent()?;
    let is_block = around.kind() == Kind::CompoundStatement && around.named_child_count() == 1;
    let node = if is_block { around.parent()? } else { around };
    let is_beside = node.kind() == Kind::ForStatement && node.parent() == declaration.parent();
    let (start, condition, update) =
        (node.field(Field::Initializer)?, node.field(Field::Condition)?, node.field(Field::Update)?);
    // All that it does beside is to count a variable of its own.
    let counter = start.field(Field::Declarator).filter(|it| it.kind() == Kind::InitDeclarator)?;
    let name = tree.slice(counter.field(Field::Declarator)?);
    let is_own = start.kind() == Kind::Declaration
        && start.fields(Field::Declarator).count() == 1
        && is_number_type(tree, tree.slice(start.field(Field::Type)?))
        && is_pure(tree, counter.field(Field::Value)?);
    let counts = update.kind() == Kind::UpdateExpression && identifiers(tree.slice(update)).eq([name]);
    let leads_back = |it: Node<'_>| it.kind() == Kind::GotoStatement;
    let is_plain = tree.is_plain(node)
        && !enclosing_function(node)?.descendants().any(leads_back)
        && !node.descendants().any(|it| it.kind() == Kind::Comment)
        && node.prev_sibling().is_some_and(|before| !tree.slice(before).starts_with('#'));
    (is_beside && is_cleared && is_own && counts && is_pure(tree, condition) && is_plain).then_some(node)
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

struct Flags<'t> {
    tree: &'t SyntaxTree,
    name: &'t str,
    /// The lowest bit, as a literal of the integer's type.
    one: String,
    /// The type of flags that are no `bool`.
    integer: Option<&'t str>,
}

impl Flags<'_> {
    /// All flags are false at first: where the array had no initializer, its elements had any value.
    fn declaration(&self, declared: &Declared<'_>, type_node: Node<'_>, type_text: &str) -> Option<Vec<Edit>> {
        let Self { tree, name, .. } = self;
        let Some(removed) = beside_others(tree, declared)? else {
            let edits = [
                tree.replacement(type_node.byte_range(), type_text)?,
                tree.replacement(declared.whole.byte_range(), &format!("{name} = 0"))?,
            ];
            return Some(edits.into());
        };
        let inserted = before_statement(tree, declared.statement, &format!("{type_text} {name} = 0;"))?;
        Some(vec![inserted, tree.replacement(removed, "")?])
    }

    /// The edits for `seen[index]`.
    fn element(&self, element: Node<'_>) -> Option<Vec<Edit>> {
        let index = index_of(self.tree, element)?;
        let parent = element.parent()?;
        match Assignment::of(parent) {
            Some(assignment) if assignment.left() == Some(element) => {
                let (value, around) = (assignment.right()?, parent.parent()?);
                let is_statement = around.kind() == Kind::ExpressionStatement;
                match assignment.operator() {
                    None | Some("=") if is_statement => self.assigned(element, index, value),
                    None | Some("=") => self.assigned_between(element, index, value, parent),
                    Some(operator) => self.changed(element, index, value, operator).filter(|_| is_statement),
                }
            }
            _ if is_value(self.tree, element) => self.read(element, index),
            _ => None,
        }
    }

    /// `(seen >> index & 1)`; with `!= 0` where the type may matter.
    fn read(&self, element: Node<'_>, index: Node<'_>) -> Option<Vec<Edit>> {
        let (open, close) = parentheses(index);
        let has_parentheses = || {
            let parent = element.parent().map(Node::kind);
            matches!(parent, Some(Kind::ConditionClause | Kind::ParenthesizedExpression))
        };
        let (start, end) = match is_condition(element) {
            true if has_parentheses() => (format!("{} >> {open}", self.name), format!("{close} & 1")),
            true => (format!("({} >> {open}", self.name), format!("{close} & 1)")),
            false => match self.integer {
                Some(integer) => (format!("({integer})({} >> {open}", self.name), format!("{close} & 1)")),
                None => (format!("(({} >> {open}", self.name), format!("{close} & 1) != 0)")),
            },
        };
        self.around(element, index, &start, element.end_byte(), &end)
    }

    /// `seen |= 1u << index;`
    fn assigned(&self, element: Node<'_>, index: Node<'_>, value: Node<'_>) -> Option<Vec<Edit>> {
        let Self { tree, name, one, .. } = self;
        let (open, close) = parentheses(index);
        let end = value.end_byte();
        match tree.slice(value) {
            _ if !self.is_flag(value) => None,
            _ if self.is_toggled(element, index, value) => {
                self.around(element, index, &format!("{name} ^= {one} << {open}"), end, close)
            }
            "true" | "1" => self.around(element, index, &format!("{name} |= {one} << {open}"), end, close),
            "false" | "0" => {
                self.around(element, index, &format!("{name} &= ~({one} << {open}"), end, &format!("{close})"))
            }
            _ => {
                // The index is written twice and evaluated once, after the value, as in an assignment. A value of
                // class type may have another conversion as a condition.
                let is_fit = is_number(tree, value) && occurrences(tree.slice(index), name).next().is_none();
                let index = is_fit.then(|| tree.slice(index))?;
                let bit = format!("{one} << {open}{index}{close}");
                // Compilers warn of an assignment as a condition.
                let (before, behind) = match value.kind() {
                    Kind::AssignmentExpression => ("((", ") != 0)"),
                    _ => ("(", ")"),
                };
                let edits = [
                    tree.replacement(element.start_byte()..value.start_byte(), &format!("{name} = {before}"))?,
                    tree.insertion(end, &format!("{behind} ? {name} | {bit} : {name} & ~({bit})"))?,
                ];
                Some(edits.into())
            }
        }
    }

    /// Whether an element is assigned its opposite, by an index that is the same both times: `seen[k] = !seen[k];`.
    fn is_toggled(&self, element: Node<'_>, index: Node<'_>, value: Node<'_>) -> bool {
        let opposite = value.field(Field::Argument).filter(|_| value.operator() == Some("!"));
        opposite.is_some_and(|it| self.tree.slice(it) == self.tree.slice(element)) && is_pure(self.tree, index)
    }

    /// Whether an element is the `seen[k]` on the right of such an assignment.
    fn is_beside_toggled(&self, element: Node<'_>) -> bool {
        let toggled = || {
            let value = element.parent()?;
            let assignment = Assignment::of(value.parent()?).filter(|it| it.right() == Some(value))?;
            let is_statement = assignment.node().parent()?.kind() == Kind::ExpressionStatement;
            let is_plain = is_statement && matches!(assignment.operator(), None | Some("="));
            let target = assignment.left().filter(|_| is_plain)?;
            Some(self.is_toggled(target, Subscript::of(target)?.index()?, value))
        };
        toggled().unwrap_or(false)
    }

    /// `(seen |= 1u << index, true)` for an assignment whose value another one takes.
    fn assigned_between(
        &self,
        element: Node<'_>,
        index: Node<'_>,
        value: Node<'_>,
        assignment: Node<'_>,
    ) -> Option<Vec<Edit>> {
        let Self { tree, name, one, .. } = self;
        let outer = Assignment::of(assignment.parent()?)?;
        let is_taken = outer.right() == Some(assignment) && is_number(tree, outer.left()?);
        let (open, close) = parentheses(index);
        let end = value.end_byte();
        match tree.slice(value) {
            "true" | "1" if is_taken => {
                self.around(element, index, &format!("({name} |= {one} << {open}"), end, &format!("{close}, true)"))
            }
            "false" | "0" if is_taken => {
                let before = format!("({name} &= ~({one} << {open}");
                self.around(element, index, &before, end, &format!("{close}), false)"))
            }
            _ => None,
        }
    }

    /// `seen |= (value ? 1u : 0u) << index;`: the value is evaluated before the index, as in the assignment.
    fn changed(&self, element: Node<'_>, index: Node<'_>, value: Node<'_>, operator: &str) -> Option<Vec<Edit>> {
        let Self { tree, name, one, .. } = self;
        let is_fit = is_number(tree, value) && occurrences(tree.slice(index), name).next().is_none();
        let zero = one.replacen('1', "0", 1);
        let (open, close) = parentheses(index);
        let shifted = |set: &str, unset: &str| format!(" ? {set} : {unset}) << {open}{}{close}", tree.slice(index));
        let (before, behind) = match operator {
            "|=" if self.is_flag(value) => (format!("{name} |= (("), format!("){}", shifted(one, &zero))),
            // A number takes part with its lowest bit, as `true` has no other.
            "&=" => (format!("{name} &= ~(((("), format!(") & 1){})", shifted(&zero, one))),
            // Any other number than 0 and 1 would leave a flag set.
            "^=" if is_condition_text(value) => (format!("{name} ^= (("), format!("){}", shifted(one, &zero))),
            _ => return None,
        };
        let edits = [
            tree.replacement(element.start_byte()..value.start_byte(), &before).filter(|_| is_fit)?,
            tree.insertion(value.end_byte(), &behind)?,
        ];
        Some(edits.into())
    }

    /// Whether a flag keeps nothing else of a value: a `bool` does so by its type.
    fn is_flag(&self, value: Node<'_>) -> bool {
        self.integer.is_none() || matches!(self.tree.slice(value), "0" | "1") || is_condition_text(value)
    }

    /// Replaces what stands before and behind an index, up to `end`.
    fn around(&self, element: Node<'_>, index: Node<'_>, before: &str, end: usize, behind: &str) -> Option<Vec<Edit>> {
        let edits = [
            self.tree.replacement(element.start_byte()..index.start_byte(), before)?,
            self.tree.replacement(index.end_byte()..end, behind)?,
        ];
        Some(edits.into())
    }
}

/// Whether an expression is 0 or 1, as its form shows.
fn is_condition_text(value: Node<'_>) -> bool {
    match value.kind() {
        Kind::True | Kind::False => true,
        Kind::ParenthesizedExpression => value.named_child(0).is_some_and(is_condition_text),
        Kind::UnaryExpression => value.operator() == Some("!"),
        Kind::BinaryExpression => {
            matches!(value.operator(), Some("<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||"))
        }
        _ => false,
    }
}

/// Parentheses around an expression that may bind less tightly than a shift.
fn parentheses(index: Node<'_>) -> (&'static str, &'static str) {
    match index.kind() {
        Kind::Identifier
        | Kind::NumberLiteral
        | Kind::SubscriptExpression
        | Kind::FieldExpression
        | Kind::CallExpression
        | Kind::ParenthesizedExpression => ("", ""),
        _ => ("(", ")"),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use lmem_base::edit::apply;

    /// The body with the flags `seen` as bits.
    fn bits(body: &str) -> Option<String> {
        let head = "struct View { const bool& one; View(const bool& one) : one(one) {} };\n\
            struct Slot { int at; Slot(int at); operator int() const; };\n\
            __global__ void k(const int* in, int* out, int n) {\n";
        let text = format!("{head}{body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let offset = head.len() + occurrences(body, "seen").next()?;
        let Packed { edits, .. } = edits(&PrivateVariable::at(&tree, offset)?)?;
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
                "unsigned seen = 0; out[0] = (seen |= 1u << n, true); \
                 seen = (((seen &= ~(1u << n), false)) != 0) ? seen | 1u << 0 : seen & ~(1u << 0);",
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
            "bool seen[4][4] = {}; seen[n][n] = true;",
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
