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
use super::facts::binding::is_own_value;
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
        let relation = if one.takes_place { "instead of" } else { "beside" };
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
            && is_own_value(tree, own)
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
mod tests;
