//! Keeps the value of an element that a loop looks for beside its index: `if (a[i] > a[best]) best = i;` reads `a[best]` by a computed
//! index. In `if (a[i] > a_at_best) { best = i; a_at_best = a[i]; }` only the indices of loops are left, which may be unrolled.
//!
//! The variable is set wherever the index is, and read only where no element was written since then (`flow`).

mod element;
mod flow;

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::ast::{Assignment, Field, Kind, Node, Subscript};
use cuda_syntax::tree::{Declaration, DeclarationKind, Declarations, enclosing_function, resolve};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use self::element::{is_number_read, is_object_read, with_parts, write_statement};
use self::flow::Flow;
use super::Rewrite;
use super::facts::classes::is_copied_plainly;
use super::facts::integers::plain_words;
use super::facts::number::{is_number, is_number_type};
use super::facts::sites::located;
use super::facts::steady::{is_reachable, may_be_written_unseen, may_write};
use super::facts::volatile_reads::may_read_volatile;
use super::select::{FORMS, selection, worth};
use super::shared::columns::uses;
use super::shared::declaration::{Declared, declared};
use super::unroll::Unrolled;
use super::unroll::body::{exits, is_automatic, is_unconditional};
use super::unroll::for_loop::for_loops;
use super::unroll::header::step;
use super::unroll::round::Round;

/// The edits for each index whose elements are read; other computed indices become selects.
pub fn suggestions(object: &StackObject) -> Vec<Suggestion> {
    let found = || {
        let (tree, offset) = located(object, &object.variable.as_ref()?.span)?;
        let array = Array::at(tree, offset)?;
        Some((tree, array.names().into_iter().filter_map(|index| array.kept(&index)).collect::<Vec<_>>()))
    };
    let Some((tree, kept)) = found() else { return Vec::new() };
    let is_within_kernel = |one: &Kept| tree.is_within_kernel(one.reads.first().map_or(0, |read| read.start));
    let unrolled =
        if kept.is_empty() { None } else { Unrolled::with_searches(object).map(|unrolled| unrolled.rewrite) };
    let edited = |one: &Kept| {
        let rewrite = Rewrite::new(Applicability::MaybeIncorrect, one.edits.clone());
        let rewrite = rewrite.within_kernel(is_within_kernel(one)).keeping_loops(true);
        let relation = if one.takes_place { "in place of" } else { "beside" };
        let title = format!("keep the value of `{}` in a variable {relation} `{}`", one.element, one.index);
        let selected = |form| {
            let rest = selection(object, form, &one.reads)?;
            let is_worth = worth::is_worth(object, &rest) && rest.has_writes && !rest.rewrite.edits.is_empty();
            let unrolled = unrolled.clone().filter(|_| is_worth)?;
            let whole = rewrite.clone().and(rest.rewrite)?.and(unrolled)?;
            Some(whole.suggestion(format!("{title}, and select the element that is written")))
        };
        let both = unrolled.clone().filter(|unrolled| !unrolled.edits.is_empty());
        let both = both.and_then(|unrolled| rewrite.clone().and(unrolled));
        let both = both.map(|both| both.suggestion(format!("{title}, and unroll the loops")));
        let alone = rewrite.clone().suggestion(title.clone());
        let all: Vec<Suggestion> =
            std::iter::once(alone).chain(both).chain(FORMS.into_iter().filter_map(selected)).collect();
        all
    };
    kept.iter().flat_map(edited).collect()
}

/// A local array of numbers, or of objects that are copied plainly, of which only elements are used.
struct Array<'t> {
    tree: &'t Rc<SyntaxTree>,
    declared: Declared<'t>,
    elements: Vec<Node<'t>>,
    /// The element type, as text.
    type_text: &'t str,
    is_of_objects: bool,
    extent: Node<'t>,
    /// `None` for the parameter of a template, of which there is at least one element.
    size: Option<i64>,
}

/// The edits for one index.
struct Kept {
    index: String,
    /// Whether nothing is left of the index.
    takes_place: bool,
    /// `a[best]`
    element: String,
    edits: Vec<Edit>,
    /// The elements that the variable replaces.
    reads: Vec<Range<usize>>,
}

impl<'t> Array<'t> {
    fn at(tree: &'t Rc<SyntaxTree>, offset: usize) -> Option<Self> {
        let declared = declared(tree, offset)?;
        let type_node = declared.statement.field(Field::Type)?;
        let type_text = tree.slice(type_node);
        let is_of_objects = !types::is_scalar(type_text) && !is_number_type(tree, type_text);
        let [extent] = declared.extents.as_slice() else { return None };
        let extent = *extent;
        let size = tree.settled_value_of(extent);
        let name = tree.slice(extent);
        let is_parameter = extent.kind() == Kind::Identifier
            && tree.is_template_parameter(name, extent.start_byte())
            && tree.is_fixed(name, extent.start_byte());
        if size.is_none() && !is_parameter {
            return None;
        }
        let elements: Vec<Node<'t>> =
            uses(tree, &declared)?.iter().map(|used| used.element(tree, 1)).collect::<Option<_>>()?;
        let scope = declared.statement.parent()?;
        let name = tree.slice(declared.name);
        let jumps = |node: Node<'_>| {
            matches!(
                node.kind(),
                Kind::GotoStatement | Kind::LambdaExpression | Kind::SwitchStatement | Kind::ThrowStatement
            ) || node.is_assembly()
        };
        let is_copied = || is_copied_plainly(tree, type_text) && type_node.field(Field::Body).is_none();
        let is_fit = (!is_of_objects || is_copied())
            && !declared.is_of_pointers
            && tree.is_plain(scope)
            && tree.compiled().is_faithful(tree.text(), &scope.byte_range())
            && !tree.differs_in_builds(&scope.byte_range())
            && !scope.descendants().any(jumps)
            && elements.first().is_some_and(|element| !may_read_volatile(tree, *element))
            && !may_be_written_unseen(tree, scope, name);
        is_fit.then_some(Self { tree, declared, elements, type_text, is_of_objects, extent, size })
    }

    fn scope(&self) -> Option<Node<'t>> {
        self.declared.statement.parent()
    }

    /// The variables that are whole indices of elements, each once.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for element in &self.elements {
            let index = Subscript::of(*element).and_then(Subscript::index);
            let Some(index) = index.filter(|index| index.kind() == Kind::Identifier) else { continue };
            let name = self.tree.slice(index).to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The edits for an index, if it is a variable of the block of the array, or of one in it, and all that is done with it shows.
    fn kept(&self, index: &str) -> Option<Kept> {
        let tree = self.tree;
        let scope = self.scope()?;
        let function = enclosing_function(scope)?;
        let all = tree.declarations(function);
        let first = self.elements.iter().find(|element| self.index_is(**element, index))?;
        let own = resolve(&all, index, first.start_byte())?;
        let is_fit = own.kind == DeclarationKind::Scalar
            && matches!(plain_words(&own.type_text).as_str(), "int" | "unsigned" | "unsigned int")
            && own.volatility.is_none()
            && !own.is_parameter
            && scope.byte_range().contains(&own.range.0)
            && own.range.0 > self.declared.statement.end_byte()
            && is_automatic(tree, own.range.0)
            && !is_reachable(tree, function, index)
            && !may_be_written_unseen(tree, scope, index);
        let declaration = self.declaration_of(own).filter(|_| is_fit)?;
        // Other variables of the name would be taken for it.
        let is_only = all.named(index).count() == 1;
        let sets = self.sets(&all, own, declaration).filter(|_| is_only)?;
        let element = format!("{}[{index}]", tree.slice(self.declared.name));
        // An element is written by a statement, or its value is read.
        let (read, written): (Vec<Node<'t>>, Vec<Node<'t>>) =
            self.elements.iter().partition(|element| write_statement(**element).is_none());
        let writes: Vec<Node<'t>> = written.into_iter().filter_map(write_statement).collect();
        let is_read = |element: &Node<'t>| match self.is_of_objects {
            true => is_object_read(tree, *element, self.type_text),
            false => is_number_read(tree, *element),
        };
        // No object stands for none.
        let is_none = |set: &Set<'t>| set.value.is_none_or(|value| tree.value_of(value).is_some_and(|it| it < 0));
        if !read.iter().all(is_read) || (self.is_of_objects && sets.iter().any(is_none)) {
            return None;
        }
        let reads: Vec<Node<'t>> = read.into_iter().filter(|element| self.index_is(*element, index)).collect();
        let statements: Vec<Node<'t>> = sets.iter().map(|set| set.statement).collect();
        if reads.is_empty() || !Flow::new(&statements, &writes, &reads).holds(scope) {
            return None;
        }
        let name = tree.fresh(&format!("{}_at_{index}", tree.slice(self.declared.name)), &[]);
        // Where nothing else is asked of the index, the variable takes its place.
        let is_known = |mention: &Node<'t>| {
            let is_in = |range: Range<usize>| range.contains(&mention.start_byte());
            is_in(declaration.byte_range())
                || sets.iter().any(|set| is_in(set.statement.byte_range()))
                || reads.iter().any(|read| is_in(read.byte_range()))
        };
        let takes_place = tree.names_of(function, &all, own).iter().all(is_known);
        let mut edits: Vec<Edit> = Vec::new();
        for set in &sets {
            edits.extend(self.set(set, declaration, &name, takes_place)?);
        }
        for read in &reads {
            edits.push(tree.replacement(read.byte_range(), &name)?);
        }
        Some(Kept {
            index: index.to_string(),
            takes_place,
            element,
            edits,
            reads: reads.iter().map(|read| with_parts(*read).byte_range()).collect(),
        })
    }

    fn index_is(&self, element: Node<'_>, name: &str) -> bool {
        let index = Subscript::of(element).and_then(Subscript::index);
        index.is_some_and(|index| index.kind() == Kind::Identifier && self.tree.slice(index) == name)
    }

    /// The statement `int best = 0;` in a block.
    fn declaration_of(&self, own: &Declaration) -> Option<Node<'t>> {
        let name = self.tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
        let declaration = name.enclosing(Kind::Declaration)?;
        let is_statement = declaration.parent().is_some_and(|around| around.kind() == Kind::CompoundStatement);
        let is_alone = declaration.fields(Field::Declarator).count() == 1;
        (is_statement && is_alone).then_some(declaration)
    }

    /// The places that give the index its value; `None` if there are others, or if an element may not be there.
    fn sets(&self, all: &Declarations, own: &Declaration, declaration: Node<'t>) -> Option<Vec<Set<'t>>> {
        let tree = self.tree;
        let function = enclosing_function(declaration)?;
        let mut sets = Vec::new();
        let declarator = declaration.field(Field::Declarator)?;
        let value = match declarator.kind() {
            Kind::InitDeclarator => Some(declarator.field(Field::Value)?),
            Kind::Identifier => None,
            _ => return None,
        };
        sets.push(Set { statement: declaration, value });
        for name in tree.names_of(function, all, own) {
            let whole = name.parent()?;
            let target = whole.field(Field::Left).or_else(|| whole.field(Field::Argument));
            let is_target =
                matches!(whole.kind(), Kind::AssignmentExpression | Kind::UpdateExpression) && target == Some(name);
            if !is_target {
                continue;
            }
            let assignment = Assignment::of(whole).filter(|it| it.is_plain())?;
            let statement = whole.parent().filter(|it| it.kind() == Kind::ExpressionStatement)?;
            sets.push(Set { statement, value: Some(assignment.right()?) });
        }
        sets.iter().all(|set| set.value.is_none_or(|value| self.is_index(value, set.statement))).then_some(sets)
    }

    /// Whether a value is a number of an element, or a negative number that stands for none.
    fn is_index(&self, value: Node<'t>, statement: Node<'t>) -> bool {
        let tree = self.tree;
        if let Some(value) = tree.value_of(value) {
            return value < self.size.unwrap_or(1);
        }
        let counter = tree.slice(value);
        let is_name = value.kind() == Kind::Identifier && is_number(tree, value);
        // The element is read where that is decided, or a loop with constant ends counts within the array.
        let is_asked = || {
            let mut around = statement.ancestors();
            let branch = around.find(|it| it.kind() == Kind::IfStatement)?;
            let clause = branch.field(Field::Condition)?;
            let is_then = branch.field(Field::Consequence)?.byte_range().contains(&statement.start_byte());
            let is_it = |element: &&Node<'t>| {
                clause.byte_range().contains(&element.start_byte())
                    && self.index_is(**element, counter)
                    && is_unconditional(tree, **element, clause)
            };
            Some(is_then && self.elements.iter().any(|element| is_it(&element)))
        };
        let is_counted = || {
            let around = for_loops(tree, value.start_byte()).into_iter().find(|found| found.counter() == counter)?;
            let node = around.node()?;
            let declarator = node.field(Field::Initializer)?.field(Field::Declarator)?;
            let start = tree.value_of(declarator.field(Field::Value)?).filter(|start| *start >= 0)?;
            let body = node.field(Field::Body)?;
            let is_plain = step(tree, node.field(Field::Update)?) == Some(1) && !may_write(tree, body, counter);
            Some(is_plain && self.ends(node, counter, start, around.rounds))
        };
        // Or the element is accessed beside it in any case.
        let is_beside = || {
            let block = statement.parent().filter(|it| it.kind() == Kind::CompoundStatement)?;
            let same: Vec<Node<'t>> =
                self.elements.iter().filter(|element| self.index_is(**element, counter)).copied().collect();
            Some(
                Round::new(tree, block, same).accesses(block)
                    && exits(tree, block).is_empty()
                    && !may_write(tree, block, counter),
            )
        };
        is_name && (is_asked().unwrap_or(false) || is_counted().unwrap_or(false) || is_beside().unwrap_or(false))
    }

    /// Whether a loop whose counter goes up from a start ends at the array's size.
    fn ends(&self, node: Node<'t>, counter: &str, start: i64, rounds: Option<u32>) -> bool {
        let tree = self.tree;
        if let Some(size) = self.size {
            return rounds.is_some_and(|rounds| start + i64::from(rounds) <= size);
        }
        let condition = node.field(Field::Condition).filter(|it| it.kind() == Kind::BinaryExpression);
        let Some(condition) = condition else { return false };
        let side = |field| condition.field(field).filter(|it| it.kind() == Kind::Identifier).map(|it| tree.slice(it));
        let (extent, place) = (tree.slice(self.extent), self.extent.start_byte());
        condition.field(Field::Operator).is_some_and(|operator| tree.slice(operator) == "<")
            && side(Field::Left) == Some(counter)
            && side(Field::Right) == Some(extent)
            && tree.means_the_same(extent, place, condition.start_byte())
    }

    /// The statement behind one that gives the index its value, or in its place.
    fn set(&self, set: &Set<'t>, declaration: Node<'t>, name: &str, takes_place: bool) -> Option<Vec<Edit>> {
        let (tree, statement) = (self.tree, set.statement);
        let array = tree.slice(self.declared.name);
        let value = match set.value {
            Some(value) if tree.value_of(value).is_none_or(|value| value >= 0) => {
                format!("{array}[{}]", tree.slice(value))
            }
            _ => "0".to_string(),
        };
        if takes_place {
            let declared = if statement == declaration { format!("{} ", self.type_text) } else { String::new() };
            return Some(vec![tree.replacement(statement.byte_range(), &format!("{declared}{name} = {value};"))?]);
        }
        if statement == declaration {
            let base = tree.line_ending(statement.start_byte())?;
            let line = format!("{base}{} {name} = {value};", self.type_text);
            return Some(vec![tree.lines_instead(statement.end_byte()..statement.end_byte(), &line, &base)?]);
        }
        let is_in_block = statement.parent().is_some_and(|it| it.kind() == Kind::CompoundStatement);
        let (open, close) = if is_in_block { ("", "") } else { ("{ ", " }") };
        let mut edits = vec![tree.insertion(statement.end_byte(), &format!(" {name} = {value};{close}"))?];
        if !is_in_block {
            edits.push(tree.insertion(statement.start_byte(), open)?);
        }
        Some(edits)
    }
}

/// A place that gives an index its value.
struct Set<'t> {
    statement: Node<'t>,
    /// `None` for a declaration without one.
    value: Option<Node<'t>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_syntax::identifiers::occurrences;
    use lmem_base::edit::apply;
    use lmem_unit::Beside;

    /// The body with the values of `a` beside an index, on one line.
    fn kept(index: &str, body: &str) -> Option<String> {
        let head =
            "__device__ int pick(const float* p);\n__global__ void k(const float* in, float* out, int n) {\n    ";
        let text = format!("{head}{body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let offset = head.len() + occurrences(body, "a").next()?;
        let kept = Array::at(&tree, offset)?.kept(index)?;
        let edited = apply(&text, &kept.edits.iter().collect::<Vec<_>>())?;
        let lines: Vec<&str> = edited.strip_prefix(head.trim_end())?.lines().map(str::trim).collect();
        Some(lines.join(" ").trim().trim_end_matches('}').trim().to_string())
    }

    #[test]
    fn the_value_stands_beside_the_index() {
        for (body, expected) in [
            (
                "float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
                "float a[8]; float a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i] > a_at_best) a_at_best = a[i]; \
                 out[0] = a_at_best;",
            ),
            (
                "float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[best] = a[best];",
                "float a[8]; int best = 0; float a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i] > a_at_best) \
                 { best = i; a_at_best = a[i]; } out[best] = a_at_best;",
            ),
            // In each round anew, and written behind the last read.
            (
                "float a[8]; for (int k = 0; k < n; ++k) { int best = 0; for (int i = 1; i < 8; ++i) { if (a[i] > a[best]) { best = i; } } \
                 out[k] = a[best] / 2; a[best] = -1.f; }",
                "float a[8]; for (int k = 0; k < n; ++k) { int best = 0; float a_at_best = a[0]; for (int i = 1; i < 8; ++i) \
                 { if (a[i] > a_at_best) { best = i; a_at_best = a[i]; } } out[k] = a_at_best / 2; a[best] = -1.f; }",
            ),
            // Selection sort, up to a run-time end.
            (
                "float a[8]; for (int i = 0; i < n; ++i) { int best = i; for (int j = i + 1; j < n; ++j) if (a[j] < a[best]) best = j; \
                 float t = a[i]; a[i] = a[best]; a[best] = t; }",
                "float a[8]; for (int i = 0; i < n; ++i) { int best = i; float a_at_best = a[i]; for (int j = i + 1; j < n; ++j) \
                 if (a[j] < a_at_best) { best = j; a_at_best = a[j]; } float t = a[i]; a[i] = a_at_best; a[best] = t; }",
            ),
            // A number that stands for none.
            (
                "float a[8]; int u = -1; for (int v = 0; v < n; ++v) if (u < 0 || a[v] < a[u]) u = v; if (u >= 0) out[0] = a[u];",
                "",
            ),
            (
                "float a[8]; int u = -1; for (int v = 0; v < 8; ++v) if (u < 0 || a[v] < a[u]) u = v; if (u >= 0) out[0] = a[u];",
                "float a[8]; int u = -1; float a_at_u = 0; for (int v = 0; v < 8; ++v) if (u < 0 || a[v] < a_at_u) \
                 { u = v; a_at_u = a[v]; } if (u >= 0) out[0] = a_at_u;",
            ),
            // The index is set behind the write that comes before.
            (
                "float a[4]; int worst = 0; for (int k = 0; k < n; ++k) { if (in[k] < a[worst]) continue; a[worst] = in[k]; worst = 0; \
                 for (int i = 1; i < 4; ++i) if (a[i] < a[worst]) worst = i; }",
                "float a[4]; int worst = 0; float a_at_worst = a[0]; for (int k = 0; k < n; ++k) { if (in[k] < a_at_worst) continue; \
                 a[worst] = in[k]; worst = 0; a_at_worst = a[0]; for (int i = 1; i < 4; ++i) if (a[i] < a_at_worst) \
                 { worst = i; a_at_worst = a[i]; } }",
            ),
        ] {
            let index = ["best", "worst", "u"].into_iter().find(|it| body.contains(&format!("int {it} = "))).unwrap();
            let expected = Some(expected.to_string()).filter(|text| !text.is_empty());
            assert_eq!(kept(index, body), expected, "{body}");
        }
    }

    /// The same with `a` as an array of eight objects.
    fn kept_object(classes: &str, body: &str) -> Option<String> {
        let head = format!(
            "struct Hit {{ float d; int id; int at[2]; __device__ float far() const {{ return d; }} }}; {classes}\n\
            __device__ void take(Hit h); __device__ void see(const Hit& h);\n\
            __global__ void k(const Hit* in, Hit* out, float* f, int n) {{\n    "
        );
        let text = format!("{head}{body}\n}}\n");
        let beside = Beside { is_known: true, ..Beside::default() };
        let tree = Rc::new(SyntaxTree::example("a.cu", &text).with_beside(beside));
        let offset = head.len() + occurrences(body, "a").next()?;
        let kept = Array::at(&tree, offset)?.kept("best")?;
        let edited = apply(&text, &kept.edits.iter().collect::<Vec<_>>())?;
        let lines: Vec<&str> = edited.strip_prefix(head.trim_end())?.lines().map(str::trim).collect();
        Some(lines.join(" ").trim().trim_end_matches('}').trim().to_string())
    }

    const SEARCH: &str = "int best = 0; for (int i = 1; i < 8; ++i) if (a[i].d > a[best].d) best = i;";

    #[test]
    fn an_object_stands_beside_the_index() {
        let found = "int best = 0; Hit a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i].d > a_at_best.d) \
            { best = i; a_at_best = a[i]; }";
        let in_place = "Hit a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i].d > a_at_best.d) a_at_best = a[i];";
        for (rest, expected) in [
            ("out[n] = a[best];", "out[n] = a_at_best;"),
            ("Hit h = a[best];", "Hit h = a_at_best;"),
            ("auto h = a[best];", "auto h = a_at_best;"),
            ("f[n] = a[best].d + a[best].id;", "f[n] = a_at_best.d + a_at_best.id;"),
            ("int id = a[best].id; a[best].d = 0;", "int id = a_at_best.id; a[best].d = 0;"),
            ("a[best].id = a[best].id + 1;", "a[best].id = a_at_best.id + 1;"),
            ("a[0] = a[best]; a[best] = in[n];", "a[0] = a_at_best; a[best] = in[n];"),
        ] {
            let kept = kept_object("", &format!("Hit a[8]; {SEARCH} {rest}"));
            let found = if expected.contains("best]") { found } else { in_place };
            assert_eq!(kept, Some(format!("Hit a[8]; {found} {expected}")), "{rest}");
        }
    }

    #[test]
    fn an_object_that_may_be_another_is_read_again() {
        for rest in [
            "a[n & 7].id = 3; f[n] = a[best].d;",
            "a[n & 7].at[1] = 3; f[n] = a[best].d;",
            "a[n & 7].at[1]++; f[n] = a[best].d;",
            "f[n] = a[best].far();",
            "f[n] = a[best].at[n];",
            "f[n] = *a[best].at;",
            "f[n] = *(a[best].at + 1);",
            "const int* p = a[best].at; f[n] = p[0];",
            "see(a[best]);",
            "Hit& h = a[best]; h.d = 1;",
            "const Hit& h = a[best]; a[0].d = 1; f[n] = h.d;",
            "const auto& h = a[best]; a[0].d = 1; f[n] = h.d;",
            "float& h = a[best].d; h = 1;",
            "float* h = &a[best].d; *h = 1;",
            "f[n] = (a[best].d = 2);",
            "f[n] = (a[best] = in[0]).d;",
            "auto [d, id, at] = a[best];",
            "auto& [d, id, at] = a[best]; d = 1;",
            "Hit* p = a; f[n] = p->d;",
            "f[n] = sizeof(a[best]);",
            "(a[best]).d = 3;",
            "best = -1; if (best >= 0) f[n] = a[best].d;",
        ] {
            assert_eq!(kept_object("", &format!("Hit a[8]; {SEARCH} {rest}")), None, "{rest}");
        }
        for (classes, body) in [
            ("struct View { const Hit& one; View(const Hit& h) : one(h) {} };", "View v = a[best]; f[n] = v.one.d;"),
            (
                "struct View { const Hit* one; View& operator=(const Hit& h); };",
                "View v; v = a[best]; f[n] = v.one->d;",
            ),
            ("struct View { const Hit* one; View& operator=(const Hit& h); };", "f[n] = a[best].d;"),
            ("__device__ float operator+(const Hit& h, float d);", "f[n] = a[best] + 1.f;"),
            ("__device__ float operator+(const Hit& h, float d);", "out[n] = a[best];"),
        ] {
            let is_copy = body == "f[n] = a[best].d;";
            assert_eq!(kept_object(classes, &format!("Hit a[8]; {SEARCH} {body}")).is_some(), is_copy, "{body}");
        }
        for class in [
            "struct One { float d; __device__ One() {} __device__ One(const One& o) : d(o.d + 1) {} };",
            "struct One { float d; __device__ One& operator=(float other) { d = other; return *this; } };",
            "struct One { float d; __device__ ~One() {} };",
            "struct One { volatile float d; };",
            "struct One { float& d; };",
            "typedef volatile float Cell; struct One { Cell d; };",
            "struct One;",
        ] {
            assert_eq!(kept_object(class, &format!("One a[8]; {SEARCH} f[n] = a[best].d;")), None, "{class}");
        }
    }

    #[test]
    fn numbers_may_have_another_name() {
        let search = "int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; f[n] = a[best];";
        for (alias, is_number) in [
            ("using Real = float;", true),
            ("typedef float Real;", true),
            ("using Real = volatile float;", false),
            ("typedef float Real[2];", false),
            ("using Real = float*;", false),
            ("using Real = float&;", false),
        ] {
            let kept = kept_object(alias, &format!("Real a[8]; {search}"));
            assert_eq!(kept.is_some(), is_number, "{alias} {kept:?}");
        }
    }

    #[test]
    fn the_size_may_be_a_parameter_of_the_template() {
        let kept = |start: &str, body: &str| {
            let head =
                "template <int N, int M> __global__ void k(const float* in, float* out, int n) {\n    float a[N]; ";
            let text = format!("{head}int best = {start}; {body} out[0] = a[best];\n}}\n");
            let tree = Rc::new(SyntaxTree::example("a.cu", &text));
            Array::at(&tree, head.find("a[N]").unwrap()).and_then(|array| array.kept("best")).is_some()
        };
        let loop_to = |end: &str| format!("for (int i = 0; i {end}; ++i) if (in[i] > 0) best = i;");
        assert!(kept("0", &loop_to("< N")));
        for (start, body) in [
            ("0", loop_to("< M")),
            ("0", loop_to("<= N")),
            ("0", loop_to("< N + 1")),
            ("0", loop_to("< 4")),
            ("0", format!("const int N = 9; {}", loop_to("< N"))),
            ("1", loop_to("< N")),
        ] {
            assert!(!kept(start, &body), "{start}, {body}");
        }
        // What is compared in any case is there.
        assert!(kept("0", "for (int i = 1; i < n; ++i) if (a[i] > a[best]) best = i;"));
    }

    #[test]
    fn a_value_that_may_be_another_is_read_again() {
        let search = "float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i;";
        for rest in [
            // Elements that are written before the read, also in the round before.
            "a[0] = 1; out[0] = a[best];",
            "for (int k = 0; k < n; ++k) { out[k] = a[best]; a[k] = 2; }",
            "for (int k = 0; k < n; ++k) { if (in[k] > 0) a[best] = 1; out[k] = a[best]; }",
            "while (n--) { out[n] = a[best]; if (in[n] > 0) break; a[n & 7] = 1; }",
            "do { a[n & 7] = 1; } while (a[best] > 0);",
            "for (int k = 0; k < 8; ++k) a[k] += a[best];",
            // The index is changed in other ways, or to what no element is known for.
            "++best; out[0] = a[best];",
            "best = n; out[0] = a[best];",
            "best = 9; out[0] = a[best];",
            "int& r = best; r = 2; out[0] = a[best];",
            "if ((best = 3) > n) out[0] = a[best];",
            // The array is used as a whole, or by reference.
            "best = pick(a); out[0] = a[best];",
            "float& r = a[best]; r = 2; out[0] = a[best];",
            "out[0] = a[best]++;",
            "auto f = [&] { a[0] = 1; }; f(); out[0] = a[best];",
            "switch (n) { case 1: a[0] = 2; case 2: out[0] = a[best]; }",
            "again: out[0] = a[best]; a[0] = 1; if (n--) goto again;",
            "{ int best = n; out[0] = a[best]; }",
        ] {
            assert_eq!(kept("best", &format!("{search} {rest}")), None, "{rest}");
        }
        for body in [
            "int best = 0; float a[8]; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
            "float a[8]; static int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
            "volatile float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
            "float a[8]; unsigned char best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
            "float a[8]; int best = 0, c = 1; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[c] = a[best];",
        ] {
            assert_eq!(kept("best", body), None, "{body}");
        }
    }
}
