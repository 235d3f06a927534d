//! Replaces an access with a computed index by selects over all elements. All indices are then constant, and the array
//! can be kept in registers.

mod effects;
mod exchange;
pub mod holder;
mod path;
pub mod place;
mod read;
mod reference;
mod role;
mod row;
mod run;
mod step;
mod text;
mod together;
mod update;
pub mod worth;
mod write;

use std::collections::BTreeMap;
use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Kind, Node};
use cuda_syntax::identifiers::FreshNames;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::edit::are_apart;
use lmem_base::source::Span;
use lmem_frame::{Access, StackObject};
use nv_code::AccessKind;

use self::effects::Effects;
use self::holder::{Holder, IndexedUse, holders_with_members};
use self::role::Role;
use super::Rewrite;
use super::unroll::Unrolled;
use super::unroll::search::searches;

/// How a selected element is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `if (k == index) a[k] = value;`
    Branch,
    /// `a[k] = k == index ? value : a[k];`
    Select,
}

/// The selects for all accesses with a computed index.
pub struct Selection {
    pub rewrite: Rewrite,
    /// The largest number of elements that one access selects from, if known.
    pub elements: Option<u64>,
    /// Total number of selects or branches: the sum of elements over all accesses.
    pub selects: u64,
    /// Whether some accesses are writes.
    pub has_writes: bool,
    /// The elements that are selected.
    chosen: Vec<Span>,
}

impl Selection {
    /// Whether the element of an access is selected.
    fn holds(&self, access: &Access) -> bool {
        let is_in = |span: &Span| {
            let is_around = |it: &Span| it.file.path == span.file.path && it.start <= span.start && span.end <= it.end;
            self.chosen.iter().any(is_around)
        };
        access.span.as_ref().is_some_and(is_in)
    }
}

/// Limit on the chains of selects before one statement. Six of them before `p[u].x - p[v].x, …` are 36 lines for one,
/// which nobody would read.
const MOST_CHAINS: usize = 4;

/// The forms, in the order in which they are tried.
pub const FORMS: [Form; 2] = [Form::Branch, Form::Select];

/// Replaces every access with a computed index by a select over all elements. Loops over the array are unrolled too:
/// one index that is not constant keeps the whole array in local memory.
pub fn suggestion(object: &StackObject, form: Form) -> Option<Suggestion> {
    let selection = selection(object, form, &searches(object))?;
    // The two forms differ only in writes.
    if !worth::is_worth(object, &selection) || (form == Form::Select && !selection.has_writes) {
        return None;
    }
    let unrolled = Unrolled::with_searches(object)?;
    let title = match unrolled.rewrite.edits.is_empty() {
        true => "replace the dynamic index by an unrolled select",
        false => "replace the dynamic index by an unrolled select, and unroll the loops over the array",
    };
    Some(selection.rewrite.and(unrolled.rewrite)?.suggestion(title))
}

/// The same for an array of few elements in loops that are not unrolled: where their counters stand behind other names, or
/// the loops are long, as of `word[bit / 64]`. Loops whose counters are the index alone are unrolled.
pub fn suggestion_in_loops(object: &StackObject, form: Form) -> Option<Suggestion> {
    let selection = selection(object, form, &[])?;
    if !worth::is_worth(object, &selection) || (form == Form::Select && !selection.has_writes) {
        return None;
    }
    // `a[length++]` has an order of its own.
    let is_stepped = |span: &Span| span.text().contains("++") || span.text().contains("--");
    if selection.chosen.iter().any(is_stepped) {
        return None;
    }
    let unrolled = Unrolled::of_accesses(object, |access| !selection.holds(access))?;
    Some(selection.rewrite.and(unrolled.rewrite)?.suggestion("replace the index by an unrolled select"))
}

/// Replaces all accesses with a computed index, except those in some ranges; `None` if equivalence is not certain.
pub fn selection(object: &StackObject, form: Form, done: &[Range<usize>]) -> Option<Selection> {
    if !object.escapes().is_empty() || object.reinterpretation().is_some() {
        return None;
    }
    let holders = holders_with_members(object)?;
    let (mut edits, mut elements, mut selects) = (Vec::new(), None, 0_u64);
    let mut chosen = Vec::new();
    let (mut is_any, mut has_writes, mut is_within_kernel) = (false, false, true);
    for holder in &holders {
        let uses = holder.uses(object, done)?;
        is_any |= !uses.is_empty();
        for found in &uses {
            let count = found.dimensions.iter().try_fold(1u64, |all, one| all.checked_mul(one.count?));
            let count = count.or_else(|| object.elements());
            elements = elements.max(count);
            has_writes |= match found.role {
                Role::Read => false,
                Role::Reference(last) => {
                    is_written(object, &holder.tree, found.statement.start_byte()..last.end_byte())
                }
                Role::Write(_) | Role::Step(_) | Role::Exchange(_) => true,
            };
            is_within_kernel &= holder.tree.is_within_kernel(found.node.start_byte());
            let range = match found.role {
                Role::Reference(last) => found.statement.start_byte()..last.end_byte(),
                _ => found.node.byte_range(),
            };
            chosen.push(holder.tree.span(range)?);
        }
        let mut writer = Writer::new(holder, form)?;
        let statements = by_statement(uses);
        let mut rest = statements.as_slice();
        while let Some((statement, others)) = rest.split_first() {
            if let Some(run) = writer.run(rest) {
                selects = selects.saturating_add(run.selects);
                edits.extend(run.edits);
                rest = &rest[run.statements..];
                continue;
            }
            let counts = selects_of(&holder.tree, statement);
            if counts.len() > MOST_CHAINS {
                return None;
            }
            selects = counts.into_iter().fold(selects, u64::saturating_add);
            edits.extend(writer.statement(statement)?);
            let end = statement.iter().map(|found| found.statement.end_byte()).max();
            writer.edited_until = writer.edited_until.max(end.unwrap_or(0));
            rest = others;
        }
    }
    let rewrite = Rewrite::new(Applicability::MaybeIncorrect, edits);
    let rewrite = rewrite.within_kernel(is_within_kernel).keeping_loops(true).by_statement(true);
    let is_fit = (is_any || !done.is_empty()) && are_apart(&rewrite.edits);
    is_fit.then_some(Selection { rewrite, elements, selects, has_writes, chosen })
}

/// Whether an element of the object is stored to, with a computed index, in a part of the text.
fn is_written(object: &StackObject, tree: &SyntaxTree, range: Range<usize>) -> bool {
    let Some(range) = tree.span(range) else { return true };
    object.accesses.iter().any(|access| {
        let is_within =
            |span: &Span| span.file.path == range.file.path && range.start <= span.start && span.start < range.end;
        access.kind == AccessKind::Store && access.span.as_ref().is_some_and(is_within)
    })
}

/// The number of selects of each chain in a statement; equal uses share one.
fn selects_of(tree: &SyntaxTree, uses: &[IndexedUse<'_>]) -> Vec<u64> {
    let mut known: Vec<&str> = Vec::new();
    let chosen = uses.iter().filter(|found| {
        let text = tree.slice(found.node);
        let is_new = !known.contains(&text);
        known.push(text);
        is_new
    });
    let count = |found: &IndexedUse<'_>| {
        let counts = found.dimensions.iter().map(|dimension| dimension.count.unwrap_or(1));
        // Behind a reference, all its statements are repeated for each element.
        let repeated = match found.role {
            Role::Reference(last) => together::statements(found.statement, last).count() as u64 - 1,
            _ => 1,
        };
        counts.fold(repeated, u64::saturating_mul)
    };
    chosen.map(count).collect()
}

/// The uses grouped by statement, inner statements first.
fn by_statement(uses: Vec<IndexedUse<'_>>) -> Vec<Vec<IndexedUse<'_>>> {
    let mut statements: BTreeMap<(usize, usize), Vec<IndexedUse<'_>>> = BTreeMap::new();
    for found in uses {
        let range = found.statement.byte_range();
        statements.entry((range.start, range.end)).or_default().push(found);
    }
    statements.into_values().collect()
}

/// Builds the edits of one function.
struct Writer<'h> {
    holder: &'h Holder,
    tree: &'h SyntaxTree,
    function: Node<'h>,
    form: Form,
    /// Names of the text and those that were given; made for the first.
    names: Option<FreshNames<'h>>,
    /// The end of the last statement that was edited.
    edited_until: usize,
}

/// Lines of new code, each with its nesting depth.
type Lines = Vec<(usize, String)>;

impl<'h> Writer<'h> {
    fn new(holder: &'h Holder, form: Form) -> Option<Self> {
        Some(Self { holder, tree: &holder.tree, function: holder.function()?, form, names: None, edited_until: 0 })
    }

    /// The edits of a statement; `None` if an element cannot be read before it.
    fn statement(&mut self, uses: &[IndexedUse<'h>]) -> Option<Vec<Edit>> {
        let statement = uses.first()?.statement;
        let written = uses.iter().find_map(|found| match found.role {
            Role::Write(node) => Some((found, node)),
            Role::Read | Role::Step(_) | Role::Exchange(_) | Role::Reference(_) => None,
        });
        if let Some(last) = uses.iter().find_map(|found| match found.role {
            Role::Reference(last) => Some(last),
            _ => None,
        }) {
            let [found] = uses else { return None };
            return self.reference(found, last);
        }
        if let [found] = uses
            && let Role::Step(node) = found.role
        {
            return self.step(found, node);
        }
        if let Some(Role::Exchange(call)) =
            uses.iter().map(|found| found.role).find(|it| matches!(it, Role::Exchange(_)))
        {
            return self.exchange(uses, call);
        }
        let effects = Effects::of(self.tree, statement, written.map(|(_, node)| node));
        let is_movable = |found| self.is_movable(found, &effects) || (uses.len() == 1 && self.is_taken_once(found));
        let has_steps = uses.iter().any(|found| matches!(found.role, Role::Step(_)));
        if has_steps || has_comment(statement, uses) || !uses.iter().all(is_movable) {
            return None;
        }
        let mut lines = Lines::new();
        let mut replaced: Vec<(Range<usize>, String)> = Vec::new();
        let is_updated = |found: &&IndexedUse<'_>| match written {
            Some((target, node)) => self.is_update(target, node, uses) && self.is_same_text(found.node, target.node),
            None => false,
        };
        let is_read = |found: &&IndexedUse<'_>| found.role == Role::Read && !is_updated(found);
        let reads: Vec<&IndexedUse<'h>> = uses.iter().filter(is_read).collect();
        for found in reads {
            let known = uses.iter().find_map(|other| {
                let is_same = self.is_same_text(other.node, found.node);
                let is_before = other.node.end_byte() < found.node.end_byte();
                replaced.iter().find(|(range, _)| is_same && is_before && *range == other.node.byte_range())
            });
            let name = match known.map(|(_, name)| name.clone()) {
                Some(name) => name,
                None => self.read(found, &replaced, &mut lines)?,
            };
            replaced.push((found.node.byte_range(), name));
        }
        match written {
            Some((found, node)) => {
                let is_update = self.is_update(found, node, uses);
                self.write(found, node, is_update, &replaced, &mut lines)?;
                self.place(statement, &lines, Vec::new(), true)
            }
            None => {
                let is_outer = |range: &Range<usize>| {
                    !replaced
                        .iter()
                        .any(|(other, _)| other != range && other.start <= range.start && range.end <= other.end)
                };
                let outer = replaced.iter().filter(|(range, _)| is_outer(range));
                let edits =
                    outer.map(|(range, name)| self.tree.replacement(range.clone(), name)).collect::<Option<_>>()?;
                self.place(statement, &lines, edits, false)
            }
        }
    }

    fn is_same_text(&self, one: Node<'_>, other: Node<'_>) -> bool {
        self.tree.slice(one) == self.tree.slice(other)
    }
}

/// Whether the edit would remove or move a comment.
fn has_comment(statement: Node<'_>, uses: &[IndexedUse<'_>]) -> bool {
    let is_replaced = uses.iter().any(|found| matches!(found.role, Role::Write(_) | Role::Exchange(_)));
    let has_comment = |node: Node<'_>| node.descendants().any(|node| node.kind() == Kind::Comment);
    if is_replaced { has_comment(statement) } else { uses.iter().any(|it| has_comment(it.node)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_syntax::Example;
    use cuda_syntax::tree::DeclarationKind;
    use lmem_base::edit::apply;
    use lmem_frame::Place;
    use lmem_frame::StackObjectKind;
    use lmem_frame::Variable;
    use lmem_frame::{Address, FrameObject};
    use nv_code::dataflow::Provenance;
    use nv_code::{AccessKind, UnitFacts};

    const HEAD: &str = "struct State { int key[4]; float x; };\n\
        template <int W> __global__ void k(float* in, int n, float* out, State state, int* p) {\n\
        \x20   float a[W], b[4][8];\n    int c[6];\n    float3 v[5];\n";

    /// Runs a query on one array of a kernel, with computed accesses in all statements.
    pub(super) fn with_object<R>(
        name: &str,
        text: &str,
        body: &str,
        ask: impl FnOnce(&StackObject<'_>) -> Option<R>,
    ) -> Option<R> {
        with_accesses(name, text, (body, ""), ask)
    }

    /// The same with computed accesses in the lines that have a text.
    fn with_accesses<R>(
        name: &str,
        text: &str,
        (body, computed): (&str, &str),
        ask: impl FnOnce(&StackObject<'_>) -> Option<R>,
    ) -> Option<R> {
        let example = Example::new(text);
        let (trees, facts) = (example.trees(), UnitFacts::default());
        let id = trees.id(Example::NAME)?;
        let tree = trees.tree(id);
        let declared = HEAD.rfind(&format!(" {name}"))? + 1;
        let mut object = FrameObject::new(StackObjectKind::Variable, 64);
        object.variable = Some(Variable {
            name: name.to_string(),
            type_text: "float[16]".to_string(),
            kind: DeclarationKind::Array,
            is_parameter: false,
            volatility: None,
            initializer: None,
            sharing: Vec::new(),
            members: Vec::new(),
            bytes: Some(64),
            span: tree.span(declared..declared + name.len())?,
        });
        let lines = body.lines().enumerate().filter(|(_, line)| line.contains(computed));
        let lines = lines.map(|(number, _)| HEAD.lines().count() + 1 + number);
        object.accesses = lines
            .filter_map(|line| {
                let line = u32::try_from(line).ok()?;
                let offset = tree.offset(line, 0)?;
                let place = Place { tree: id, line, offset, function: None, callee: None };
                let address = Address::Computed(Provenance::default());
                let span = place.span(&trees);
                let mut access = Access::new(AccessKind::Load, address, [place].into_iter().collect());
                access.span = span;
                Some(access)
            })
            .collect();
        ask(&StackObject::new(&object, &facts, &trees))
    }

    /// A kernel with the given statements.
    pub(super) fn kernel(body: &str) -> String {
        format!("{HEAD}{body}\n}}\n")
    }

    /// The statements of a kernel after the edits for one of its arrays; `None` if there are none.
    pub(super) fn edited(name: &str, form: Form, body: &str) -> Option<String> {
        edited_where(name, form, body, "")
    }

    /// The same with computed accesses in the lines that have a text.
    pub(super) fn edited_where(name: &str, form: Form, body: &str, computed: &str) -> Option<String> {
        let text = kernel(body);
        let selection = with_accesses(name, &text, (body, computed), |object| selection(object, form, &[]))?;
        let edited = apply(&text, &selection.rewrite.edits.iter().collect::<Vec<_>>())?;
        let body = edited.strip_prefix(HEAD)?.strip_suffix("\n}\n")?;
        Some(body.to_string())
    }

    /// The same with something behind the kernel.
    pub(super) fn edited_beside(behind: &str, name: &str, body: &str) -> Option<String> {
        let text = format!("{}{behind}", kernel(body));
        let selection = with_object(name, &text, body, |object| selection(object, Form::Branch, &[]))?;
        let edited = apply(&text, &selection.rewrite.edits.iter().collect::<Vec<_>>())?;
        Some(edited.strip_prefix(HEAD)?.strip_suffix(behind)?.strip_suffix("\n}\n")?.to_string())
    }

    #[track_caller]
    pub(super) fn check(name: &str, body: &str, expected: &str) {
        assert_eq!(edited(name, Form::Branch, body).as_deref(), Some(expected));
    }

    #[test]
    fn members_and_more_dimensions() {
        check("v", "    v[n].x += 2;", "    #pragma unroll\n    for (int k = 0; k < 5; ++k) if (k == n) v[k].x += 2;");
        check(
            "state",
            "    state.key[n] = 0;",
            "    #pragma unroll\n    for (int k = 0; k < 4; ++k) if (k == n) state.key[k] = 0;",
        );
        check("b", "    b[2][n] = 0;", "    #pragma unroll\n    for (int k = 0; k < 8; ++k) if (k == n) b[2][k] = 0;");
        check(
            "b",
            "    b[n][p[0]] = 0;",
            "    const auto b_index = p[0];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) if (j == n && k == b_index) b[j][k] = 0;
    }",
        );
    }

    #[test]
    fn what_may_mean_something_else_is_left_alone() {
        for body in [
            // The index has side effects, or may not be evaluated.
            "    c[n++] = n;",
            "    c[*p++] = 1;",
            "    if (p && c[--n] > 0) out[0] = 1;",
            "    c[next(n)] = 1;",
            "    if (p && c[p[0]] > 0) out[0] = 1;",
            "    if (n && c[8 / n] > 0) out[0] = 1;",
            // The element may be written through an alias.
            "    swap(c[n], c[0]);",
            "    int& r = c[n];",
            "    decltype(auto) r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    auto&& r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    int (&r) = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    int& (r) = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    int& r(c[n]), &q = r;\n    c[0] = 5;\n    out[0] = q;",
            "    int& r((c[n]));\n    c[0] = 5;\n    out[0] = r;",
            "    auto& r(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    int q = 1, &r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    if (int& r = c[n]; r) c[0] = 5, out[0] = r;",
            "    for (int& r = c[n]; r;) c[0] = 0, out[0] = r;",
            "    int& r{c[n]};\n    c[0] = 5;\n    out[0] = r;",
            "    int& r(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    const int& r = {c[n]};\n    c[0] = 5;\n    out[0] = r;",
            "    decltype(auto) r(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    decltype(c[0]) r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    typedef int& R;\n    R r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    using R = int&;\n    R r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    using R = int&;\n    R r{c[n]};\n    c[0] = 5;\n    out[0] = r;",
            "    using R = int&;\n    using Q = R;\n    Q r(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    using R = decltype((n));\n    R r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    std::add_lvalue_reference_t<int> r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    std::conditional_t<true, int&, int> r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    int& r = static_cast<int&>(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    const int& r = std::min(c[n], c[1]);\n    c[0] = 5;\n    out[0] = r;",
            "    const int& r = std::max<int>(c[n], 1);\n    c[0] = 5;\n    out[0] = r;",
            "    const int& r = cuda::std::clamp(c[n], 1, 2);\n    c[0] = 5;\n    out[0] = r;",
            "    auto&& r = std::move(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    auto r = std::ref(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    auto r = std::tie(c[n], n);\n    c[0] = 5;\n    out[0] = std::get<0>(r);",
            "    auto r = std::as_const(c[n]);\n    c[0] = 5;\n    out[0] = r;",
            "    int& r = (int&)c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    auto f = [&r = c[n]] { return r; };\n    c[0] = 5;\n    out[0] = f();",
            "    int& r = p ? c[n] : c[0];\n    c[0] = 5;\n    out[0] = r;",
            "    struct View { int& one; } view{c[n]};\n    c[0] = 5;\n    out[0] = view.one;",
            "    auto f = [&]() -> int& { return c[n]; };\n    f() = 5;",
            "    std::pair<int&, int> two(c[n], 1);\n    c[0] = 5;\n    out[0] = two.first;",
            "    std::tuple<int&> one{c[n]};\n    c[0] = 5;\n    out[0] = std::get<0>(one);",
            "    std::reference_wrapper<int> one = c[n];\n    c[0] = 5;\n    out[0] = one;",
            "    const int& r = c[n];\n    c[0] = 5;\n    out[0] = r;",
            "    out[0] = atomicAdd(&c[n], 1);",
            "    int old = c[n]++ + c[0];",
            "    if (p && c[n]++ > 0) out[0] = 1;",
            // The statement changes the index.
            "    out[n++] = c[n];",
            "    int i = n, x = c[i];",
            // The element is evaluated more than once.
            "    while (c[n] > 0) --n;",
            "    for (int i = 0; i < c[n]; ++i) out[i] = 0;",
            // No statement can be inserted there.
            "\n#define CHECK(c) if (!(c)) return\n    CHECK(c[n] > 0);",
            "    int x = 1; /* one */ c[n] = x;",
            "    int x = 1;c[n] = x;",
            "    c[n] = 1; // first\n    /* why */ c[n + 1] = 2;",
            "    c[n] = /* one */ 1;",
            // The index may be of a class, with a `==` of its own.
            "    Slot slot = n;\n    c[slot] = 1;",
            "    out[0] = c[unknown(n)];",
            // The copy that the select makes is not the element.
            "    struct View { int& one; };\n    View view{c[n]};",
            "    struct View { int& one; };\n    View view = {c[n]};",
            "    struct View { int* one; View(int& it) : one(&it) {} };\n    View view = c[n];",
            "    struct View { int* one; View(int& it) : one(&it) {} };\n    View view(c[n]);",
            "    struct Sum { int* last; void operator+=(int& it) { last = &it; } } sum;\n    sum += c[n];",
        ] {
            assert_eq!(edited("c", Form::Branch, body), None, "{body}");
        }
    }
}
