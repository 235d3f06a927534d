//! Uses of an array with a computed index: the parts of the expression, and its statement.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::tree::{Declaration, DeclarationKind, Declarations, enclosing_function, resolve};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::source::Span;
use lmem_frame::{Place, StackObject};

use super::path::{Path, Step};
use super::reference::last_use;
use super::role::{Role, role};
use super::row::Row;
use crate::rewrite::facts::classes::{class_around, member_array};
use crate::rewrite::facts::evaluation::site;
use crate::rewrite::facts::exchanged::is_in_exchange;
use crate::rewrite::facts::instances::arguments_of_instances;
use crate::rewrite::facts::number::{is_number, is_value_type};
use crate::rewrite::facts::sites::trees;
use crate::rewrite::facts::taken::{has_operators, is_value, may_keep_references};
use crate::rewrite::facts::text::is_plain_extent;
use crate::rewrite::facts::volatile_reads::may_read_volatile;
use crate::rewrite::unroll::for_loop::has_known_length;
use crate::rewrite::unroll::parameter::given_extents;

/// The name of the array in one function: the variable itself, a reference parameter bound to it, or a member in a method.
pub struct Holder {
    pub tree: Rc<SyntaxTree>,
    pub declaration: Declaration,
    /// Offset of the function.
    function: usize,
    /// Whether it is a member in a method of its class.
    pub is_member: bool,
}

/// `state.key[index]`, `p[index].x`, `a[i][index]`
#[derive(Clone)]
pub struct IndexedUse<'t> {
    /// The whole expression.
    pub node: Node<'t>,
    /// The computed indices, from left to right.
    pub dimensions: Vec<Dimension<'t>>,
    /// The type of the expression, if the declaration shows it.
    pub type_text: Option<String>,
    pub role: Role<'t>,
    pub statement: Node<'t>,
    /// Whether the expression is evaluated conditionally in its statement.
    pub is_conditional: bool,
}

#[derive(Clone)]
pub struct Dimension<'t> {
    pub index: Node<'t>,
    /// The number of elements as an expression.
    pub extent: String,
    /// The number of elements, if known.
    pub count: Option<u64>,
}

impl Holder {
    fn at(tree: &Rc<SyntaxTree>, offset: usize) -> Option<Self> {
        let node = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
        let function = enclosing_function(node)?;
        let declarations = tree.declarations(function);
        let declaration = resolve(&declarations, tree.slice(node), offset)?.clone();
        Some(Self { tree: Rc::clone(tree), declaration, function: function.start_byte(), is_member: false })
    }

    /// The arrays of its class that the statements at an offset in a method index.
    fn members_at(tree: &Rc<SyntaxTree>, offset: usize) -> Vec<Self> {
        let found = || {
            let function = enclosing_function(tree.node_at(offset)?)?;
            class_around(function)?;
            let declarations = tree.declarations(function);
            let bases = tree.regions(offset).into_iter().flat_map(Node::descendants).filter_map(|node| {
                let base = Subscript::of(node)?.base().filter(|base| base.kind() == Kind::Identifier)?;
                resolve(&declarations, tree.slice(base), base.start_byte()).is_none().then_some(base)
            });
            let members = bases.filter_map(|base| member_array(tree, base)).map(|name| {
                let mut declaration = Declaration::hidden(tree.slice(name), name.byte_range());
                declaration.kind = DeclarationKind::Array;
                Self { tree: Rc::clone(tree), declaration, function: function.start_byte(), is_member: true }
            });
            Some(members.collect())
        };
        found().unwrap_or_default()
    }

    fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.tree, &other.tree)
            && self.declaration.range == other.declaration.range
            && self.function == other.function
    }

    /// Whether it is the variable itself. A member or a parameter may be that of an object of all threads, at another call.
    pub fn is_own(&self) -> bool {
        !self.is_member && !self.declaration.is_parameter
    }

    /// Whether the extent is known: for the variable itself, or a reference to an array with its extent. Of a pointer, all calls
    /// show it, and not what it is declared with: `float a[8]` may be any pointer.
    fn is_bounded(&self) -> bool {
        match self.declaration.is_parameter {
            false => self.declaration.kind.has_parts(),
            true => self.is_reference() || self.is_class() || self.given_extents().is_some(),
        }
    }

    /// Whether it is a parameter that is an object, a copy of its argument.
    fn is_class(&self) -> bool {
        self.declaration.kind == DeclarationKind::Aggregate
    }

    /// The extents of the local arrays that a parameter is at all calls, if it is a pointer.
    fn given_extents(&self) -> Option<Rc<[String]>> {
        let name = self.name_node().filter(|_| self.declaration.is_parameter && !self.is_reference())?;
        given_extents(&self.tree, name).filter(|extents| !extents.is_empty())
    }

    /// Whether it is a reference: then it is one object, whose members have their extents.
    fn is_reference(&self) -> bool {
        let around = self.name_node().and_then(|name| name.parent());
        around.is_some_and(|it| it.kind() == Kind::ReferenceDeclarator && !self.tree.slice(it).starts_with("&&"))
    }

    pub fn function(&self) -> Option<Node<'_>> {
        if self.is_member {
            let inside = self.tree.node_at(self.function)?;
            return inside
                .ancestors()
                .find(|it| it.kind() == Kind::FunctionDefinition && it.start_byte() == self.function);
        }
        let node =
            self.tree.root()?.named_descendant_for_byte_range(self.declaration.range.0, self.declaration.range.1)?;
        enclosing_function(node)
    }

    /// The mentions of the array in the function.
    fn names<'h>(&'h self, function: Node<'h>, declarations: &Declarations) -> Vec<Node<'h>> {
        if !self.is_member {
            return self.tree.names_of(function, declarations, &self.declaration);
        }
        // `x.cnt` is another object's.
        let name = &self.declaration.name;
        let is_own = |node: &Node<'_>| {
            node.kind() == Kind::Identifier && resolve(declarations, name, node.start_byte()).is_none()
        };
        self.tree.named(function, name).filter(is_own).collect()
    }

    fn name_node(&self) -> Option<Node<'_>> {
        self.tree.root()?.named_descendant_for_byte_range(self.declaration.range.0, self.declaration.range.1)
    }

    /// The declared extents; `None` for pointers.
    pub fn extents(&self) -> Option<Vec<Option<Node<'_>>>> {
        let mut extents = Vec::new();
        let mut node = self.name_node()?;
        loop {
            node = node.parent()?;
            match node.kind() {
                Kind::ArrayDeclarator => {
                    extents.push(node.field(Field::Size));
                }
                Kind::ParenthesizedDeclarator | Kind::ReferenceDeclarator => {}
                Kind::InitDeclarator | Kind::Declaration | Kind::ParameterDeclaration | Kind::FieldDeclaration => {
                    return Some(extents);
                }
                _ => return None,
            }
        }
    }

    /// The type before the declared name.
    fn type_node(&self) -> Option<Node<'_>> {
        let mut node = self.name_node()?;
        while !matches!(node.kind(), Kind::Declaration | Kind::ParameterDeclaration | Kind::FieldDeclaration) {
            node = node.parent()?;
        }
        node.field(Field::Type)
    }

    /// Uses with a computed index in statements with such accesses, except those in some ranges; `None` if one of them
    /// cannot be edited.
    pub fn uses<'h>(&'h self, object: &StackObject, done: &[Range<usize>]) -> Option<Vec<IndexedUse<'h>>> {
        let is_done =
            |node: Node<'_>| done.iter().any(|range| range.start <= node.start_byte() && node.end_byte() <= range.end);
        let paths = self.computed_paths(object)?.into_iter().filter(|path| !is_done(path.node));
        let mut uses: Vec<IndexedUse<'h>> =
            paths.map(|path| self.indexed_use(&path, site(path.node)?, object)).collect::<Option<_>>()?;
        uses.sort_by_key(|found| (found.node.end_byte(), std::cmp::Reverse(found.node.start_byte())));
        Some(uses)
    }

    /// The outermost subscripts with a computed index: `a[index]`.
    pub fn computed_subscripts<'h>(&'h self, object: &StackObject) -> Option<Vec<Node<'h>>> {
        let first = |path: Path<'h>| match path.steps.first() {
            Some(Step::Index(subscript)) => Some(*subscript),
            _ => None,
        };
        Some(self.computed_paths(object)?.into_iter().filter_map(first).collect())
    }

    fn computed_paths<'h>(&'h self, object: &StackObject) -> Option<Vec<Path<'h>>> {
        let function = self.function()?;
        let declarations = self.tree.declarations(function);
        let accesses = ComputedAccesses::of(object, &self.tree);
        let mut paths = Vec::new();
        for name in self.names(function, &declarations) {
            let path = Path::of(name).filter(|path| path.indices().any(|index| !is_static(&self.tree, index)));
            let Some(path) = path else { continue };
            let range = site(path.node).map_or(path.node, |(statement, _)| statement).byte_range();
            // What a reference is bound to is accessed where that is used.
            let last = last_use(&self.tree, path.node).map_or(range.end, |last| last.end_byte());
            if accesses.are_in(&(range.start..last)) {
                paths.push(path);
            }
        }
        Some(paths)
    }

    fn indexed_use<'t>(
        &self,
        path: &Path<'t>,
        (statement, is_conditional): (Node<'t>, bool),
        object: &StackObject,
    ) -> Option<IndexedUse<'t>> {
        let mut dimensions = Vec::new();
        for (position, step) in path.steps.iter().enumerate() {
            let Step::Index(subscript) = step else { continue };
            let index = Subscript::of(*subscript).and_then(Subscript::index)?;
            if !is_static(&self.tree, index) {
                // The index is compared with numbers: a class may have its own `==`. Each read of what is volatile counts.
                if !is_number(&self.tree, index) || may_read_volatile(&self.tree, index) {
                    return None;
                }
                let extent = self.extent(path, position, object)?;
                let count = self.tree.evaluate(&extent, path.node.start_byte());
                let count = count.and_then(|count| u64::try_from(count).ok());
                // That of one instance is not the number of rows in all.
                let row = count.and_then(|count| Row::of(&self.tree, index, count));
                let count = count.or_else(|| self.count_in(object).filter(|_| path.steps.len() == 1));
                dimensions.push(match row {
                    Some(row) => Dimension { index: row.number, extent: row.extent, count: Some(row.count) },
                    None => Dimension { index, extent, count },
                });
            }
        }
        let is_fit = path.is_whole && self.tree.is_plain(path.node);
        let role = role(&self.tree, path.node).filter(|_| is_fit)?;
        let type_text = self.type_of(path)?.or_else(|| self.member_type(path, object));
        let tree = &*self.tree;
        let is_of_values =
            type_text.as_deref().is_some_and(|text| is_value_type(tree, text) || self.is_given_values(text))
                || is_number(tree, path.node);
        let is_taken = || is_of_values && is_value(tree, path.node);
        let may_be_kept = || role == Role::Read && !is_taken() && may_keep_references(tree);
        // The copies of a class, and what its operators do with them, may be anything.
        if may_be_kept() || (!is_of_values && has_operators(tree)) {
            return None;
        }
        Some(IndexedUse { node: path.node, dimensions, type_text, role, statement, is_conditional })
    }

    /// The number of elements of the object's member array, as the compiler's front end has it: in a method of a template, the text does
    /// not show it.
    fn count_in(&self, object: &StackObject) -> Option<u64> {
        let members = &object.variable.as_ref().filter(|_| self.is_member)?.members;
        let name = |path: &str| path.rsplit('.').next() == Some(self.declaration.name.as_str());
        let mut named = members.iter().filter(|(path, _)| name(path));
        let (_, type_text) = named.next().filter(|_| named.next().is_none())?;
        type_text.split_once('[')?.1.strip_suffix(']')?.parse().ok()
    }

    /// What all mentions of the template that a member's class is give for a parameter, the type.
    pub fn given(&self, type_text: &str) -> Option<Vec<&str>> {
        let class = self.function().filter(|_| self.is_member).and_then(class_around)?;
        arguments_of_instances(&self.tree, class, type_text)
    }

    /// Whether that is numbers.
    fn is_given_values(&self, type_text: &str) -> bool {
        let given = self.given(type_text);
        given.is_some_and(|given| given.iter().all(|argument| is_value_type(&self.tree, argument)))
    }

    /// The number of elements that the subscript at a position of a path can select.
    fn extent(&self, path: &Path<'_>, position: usize, object: &StackObject) -> Option<String> {
        let is_leading = path.steps[..position].iter().all(|step| matches!(step, Step::Index(_)));
        if let Some(given) = self.given_extents() {
            let extent = given.get(position).filter(|_| is_leading)?;
            let (declared, at) = (self.declaration.range.0, path.node.start_byte());
            let is_same = self.tree.means_the_same(extent, declared, at);
            return if is_same {
                Some(extent.clone())
            } else {
                Some(self.tree.evaluate(extent, declared)?.to_string())
            };
        }
        let extents = self.extents()?;
        let declared = extents.get(position).copied().filter(|_| is_leading);
        if let Some(size) = declared.flatten().filter(|size| is_plain_extent(self.tree.slice(*size))) {
            // At the use, the names in the extent may mean something else.
            return self.tree.spelled(size, path.node.start_byte());
        }
        if declared.is_some_and(|size| size.is_none()) && position == 0 {
            let name = &self.declaration.name;
            return Some(format!("sizeof({name}) / sizeof({name}[0])"));
        }
        if position == 0 && extents.is_empty() && self.declaration.kind == DeclarationKind::Aggregate {
            return self.template_extent(path, object);
        }
        let Some(Step::Field(field)) = position.checked_sub(1).map(|before| &path.steps[before]) else { return None };
        let Step::Index(subscript) = &path.steps[position] else { return None };
        if let Some(count) = self.member_extent(self.tree.slice(field.field(Field::Field)?), path.node.start_byte()) {
            return Some(count);
        }
        if let Some((_, count)) =
            self.member_of(path, object).filter(|_| position + 1 == path.steps.len() && !self.is_in_template())
        {
            return Some(count.to_string());
        }
        // `sizeof` avoids spelling the member's extent, whose names may be unknown here, or others in another instance.
        let argument = self.tree.slice(subscript.field(Field::Argument)?);
        let is_simple = !argument.contains(['[', '(']);
        is_simple.then(|| format!("sizeof({argument}) / sizeof({argument}[0])"))
    }

    /// Whether the function, or a class around it, is a template, of which the object shows one instance.
    fn is_in_template(&self) -> bool {
        self.function().is_none_or(|function| function.enclosing(Kind::TemplateDeclaration).is_some())
    }

    /// The element type of a member array, and its number of elements, as the compiler's front end has them: the class may be
    /// that of another file.
    fn member_of<'o>(&self, path: &Path<'_>, object: &'o StackObject) -> Option<(&'o str, u64)> {
        let variable = object.variable.as_ref()?;
        let Some((Step::Index(subscript), before)) = path.steps.split_last() else { return None };
        let is_member = before.iter().all(|step| matches!(step, Step::Field(_))) && !before.is_empty();
        let is_own = self.tree.offset_of(&variable.span) == Some(self.declaration.range.0);
        let (name, member) = self.tree.slice(subscript.field(Field::Argument)?).split_once('.')?;
        // A member of a base class may have the same name.
        let mut named = variable.members.iter().filter(|(path, _)| path == member);
        let (_, type_text) = named.next().filter(|_| named.next().is_none())?;
        let (element, extents) = type_text.split_once('[')?;
        let count = extents.strip_suffix(']')?.parse().ok()?;
        (is_member && is_own && name == self.declaration.name).then_some((element.trim(), count))
    }

    /// The type of an element of a member array, if it can be spelled anywhere.
    fn member_type(&self, path: &Path<'_>, object: &StackObject) -> Option<String> {
        let (element, _) = self.member_of(path, object).filter(|_| !self.is_in_template())?;
        types::is_scalar(element).then(|| element.to_string())
    }

    /// `16` for `Array<float, 16>`, if the object has that many elements.
    fn template_extent(&self, path: &Path<'_>, object: &StackObject) -> Option<String> {
        let text = self.tree.slice(self.type_node()?);
        let arguments = text.split_once('<')?.1.strip_suffix('>')?;
        let last = arguments.rsplit(',').next()?.trim();
        let count = self.tree.evaluate(last, self.declaration.range.0);
        let is_fit = count.and_then(|count| u64::try_from(count).ok()) == elements_of_type(object, arguments);
        let is_same = self.tree.means_the_same(last, self.declaration.range.0, path.node.start_byte());
        (is_fit && is_same && is_plain_extent(last)).then(|| last.to_string())
    }

    /// The extent of a member array, spelled for another place, if only one member in the text has that name.
    fn member_extent(&self, field: &str, at: usize) -> Option<String> {
        let is_it = |name: Node<'_>| name.kind() == Kind::FieldIdentifier && self.tree.slice(name) == field;
        let arrays = self.tree.nodes_of(&[Kind::ArrayDeclarator]);
        let mut found = arrays.filter(|array| array.field(Field::Declarator).is_some_and(is_it));
        let only = found.next().filter(|_| found.next().is_none())?;
        let size = only.field(Field::Size)?;
        let count = self.tree.value_of(size)?;
        let spelled = self.tree.spelled(size, at).filter(|text| self.tree.evaluate(text, at) == Some(count));
        Some(spelled.filter(|text| is_plain_extent(text)).unwrap_or_else(|| count.to_string()))
    }

    /// The element type: the inner option is `None` if it must be `auto`; the outer one if the path ends before an
    /// element.
    fn type_of(&self, path: &Path<'_>) -> Option<Option<String>> {
        let extents = match self.given_extents() {
            Some(given) => given.len(),
            None => self.extents()?.len(),
        };
        let leading = path.steps.iter().take_while(|step| matches!(step, Step::Index(_))).count();
        if extents == 0 {
            return Some(None);
        }
        if leading != extents {
            return None;
        }
        let node = self.type_node().filter(|_| leading == path.steps.len());
        let is_name = |node: &Node<'_>| node.children().all(|child| child.kind() != Kind::FieldDeclarationList);
        Some(node.filter(is_name).map(|node| self.tree.slice(node).split_whitespace().collect::<Vec<_>>().join(" ")))
    }
}

/// The places of an object's computed accesses in a text.
struct ComputedAccesses<'t> {
    tree: &'t Rc<SyntaxTree>,
    lines: BTreeSet<usize>,
    /// By their start.
    spans: Vec<&'t Span>,
}

impl<'t> ComputedAccesses<'t> {
    fn of(object: &'t StackObject, tree: &'t Rc<SyntaxTree>) -> Self {
        let accesses = || object.accesses.iter().filter(|access| access.is_computed());
        let places = accesses().flat_map(|access| &access.places);
        let here = places.filter(|place| Rc::ptr_eq(object.tree(place), tree));
        let mut spans: Vec<&Span> = accesses().filter_map(|access| access.span.as_ref()).collect();
        spans.sort_by_key(|span| span.start);
        Self { tree, lines: here.map(|place| tree.line_of(place.offset)).collect(), spans }
    }

    /// Whether one is on the lines of a range. Columns are not compared, because they may refer to the statement or to a
    /// part of it.
    fn are_in(&self, range: &Range<usize>) -> bool {
        let (first, last) = (self.tree.line_of(range.start), self.tree.line_of(range.end.saturating_sub(1)));
        if first <= last && self.lines.range(first..=last).next().is_some() {
            return true;
        }
        let Some(whole) = self.tree.span(range.clone()) else { return false };
        let first = self.spans.partition_point(|span| span.start < whole.start);
        let mut started = self.spans[first..].iter().take_while(|span| span.start <= whole.end);
        started.any(|span| span.end <= whole.end && span.file.path == whole.file.path)
    }
}

/// The number of elements in an object, with the element type as first template argument.
fn elements_of_type(object: &StackObject, arguments: &str) -> Option<u64> {
    let bytes = types::size_of(arguments.split(',').next()?.trim())?;
    Some((object.bytes - object.padding.min(object.bytes)) / bytes)
}

/// The names of the variable at its computed accesses: in its own function, and in inlined functions with a reference
/// to it. `None` if an access is anywhere else.
pub fn holders(object: &StackObject) -> Option<Vec<Holder>> {
    holders_of(object, false)
}

/// The same, with its members in inlined methods.
pub fn holders_with_members(object: &StackObject) -> Option<Vec<Holder>> {
    holders_of(object, true)
}

fn holders_of(object: &StackObject, has_members: bool) -> Option<Vec<Holder>> {
    let variable = object.variable.as_ref()?;
    let trees = trees(object);
    let own = trees.iter().find_map(|tree| Holder::at(tree, tree.offset_of(&variable.span)?))?;
    if !own.is_bounded() || own.declaration.volatility.is_some() || variable.volatility.is_some() {
        return None;
    }
    let mut holders = vec![own];
    for access in object.accesses.iter().filter(|access| access.is_computed()) {
        let span = access.span.as_ref().filter(|_| !access.in_callee && object.copying_call(access).is_none())?;
        let mut places = access.places.iter();
        let is_named = |place: &&Place| !is_in_exchange(object.tree(place), place.offset);
        let innermost = places.by_ref().find(is_named).filter(|_| has_members);
        let members = innermost.map(|place| Holder::members_at(object.tree(place), place.offset)).unwrap_or_default();
        if !members.is_empty() {
            for member in members {
                if !holders.iter().any(|known| known.is_same(&member)) {
                    holders.push(member);
                }
            }
            continue;
        }
        let (tree, offset) = trees.iter().find_map(|tree| Some((*tree, tree.offset_of(span)?)))?;
        match Holder::at(tree, offset) {
            Some(found) if holders.iter().any(|known| known.is_same(&found)) => {}
            Some(found) if found.declaration.is_parameter && found.is_bounded() => holders.push(found),
            // A statement of the variable's own function, whose uses are found by name.
            _ if holders[0].is_around(tree, offset) => {}
            _ => return None,
        }
    }
    Some(holders)
}

impl Holder {
    fn is_around(&self, tree: &Rc<SyntaxTree>, offset: usize) -> bool {
        let node = tree.node_at(offset);
        Rc::ptr_eq(tree, &self.tree)
            && node.and_then(enclosing_function).is_some_and(|function| function.start_byte() == self.function)
    }
}

/// Whether an index becomes constant when the loops of its induction variables are unrolled.
pub(super) fn is_static(tree: &Rc<SyntaxTree>, index: Node<'_>) -> bool {
    let text = tree.slice(index);
    let is_sum = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '+' | '-' | '*' | '(' | ')'));
    let counters = tree.counters_around(index.start_byte());
    // With an unknown trip count, `i % 8` may pass over the array several times.
    let is_known = |name: &str| is_sum || has_known_length(tree, index.start_byte(), name);
    let is_fit = |name: &str| {
        let counter = counters.iter().find(|counter| counter.name == name);
        match counter {
            Some(counter) => counter.walk.is_some() && is_known(name),
            None => tree.is_fixed(name, index.start_byte()),
        }
    };
    index.descendants().all(|node| match node.kind() {
        Kind::Identifier => is_fit(tree.slice(node)),
        Kind::CallExpression | Kind::SubscriptExpression | Kind::FieldExpression | Kind::PointerExpression => false,
        Kind::UpdateExpression | Kind::AssignmentExpression => false,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{kernel, with_object};
    use super::*;
    use cuda_syntax::Example;
    use lmem_frame::{FrameObject, StackObjectKind, Variable};
    use nv_code::UnitFacts;

    /// Uses with a computed index, as `expression / index of extent`, by the array's name in the function.
    fn uses(name: &str, body: &str) -> Option<Vec<String>> {
        with_object(name, &kernel(body), body, |object| {
            let holder = holders(object)?.remove(0);
            let uses = holder.uses(object, &[])?;
            let shown = |found: &IndexedUse<'_>| {
                let parts =
                    found.dimensions.iter().map(|it| format!("{} of {}", holder.tree.slice(it.index), it.extent));
                format!("{} / {}", holder.tree.slice(found.node), parts.collect::<Vec<_>>().join(", "))
            };
            Some(uses.iter().map(shown).collect())
        })
    }

    fn some(uses: &[&str]) -> Option<Vec<String>> {
        Some(uses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_extent_of_the_dimension_that_is_chosen() {
        assert_eq!(uses("c", "    out[0] = c[n];"), some(&["c[n] / n of 6"]));
        assert_eq!(uses("a", "    out[0] = a[n];"), some(&["a[n] / n of W"]));
        assert_eq!(uses("b", "    out[0] = b[1][n];"), some(&["b[1][n] / n of 8"]));
        assert_eq!(uses("b", "    out[0] = b[n][*p];"), some(&["b[n][*p] / n of 4, *p of 8"]));
        assert_eq!(uses("state", "    out[0] = state.key[n];"), some(&["state.key[n] / n of 4"]));
    }

    #[test]
    fn constants_and_counters_of_loops_choose_nothing() {
        assert_eq!(uses("c", "    out[0] = c[2];"), some(&[]));
        assert_eq!(uses("c", "    for (int i = 0; i < 6; ++i) out[i] = c[5 - i];"), some(&[]));
        assert_eq!(uses("c", "    for (int i = 0; i < 6; ++i) out[i] = c[p[i]];"), some(&["c[p[i]] / p[i] of 6"]));
        // With an unknown trip count, the index may pass over the array several times.
        let round = "    for (int i = 0; i < n; ++i) out[i] = c[i % 6];";
        assert_eq!(uses("c", round), some(&["c[i % 6] / i % 6 of 6"]));
    }

    #[test]
    fn one_use_that_cannot_be_edited_is_the_end_of_all() {
        assert_eq!(uses("c", "    out[0] = c[n];\n    int *q = &c[n];"), None);
        assert_eq!(uses("v", "    out[0] = v[n].x;"), some(&["v[n].x / n of 5"]));
    }

    #[test]
    fn the_extent_of_a_pointer_is_that_of_all_arrays_it_gets() {
        let bound = |parameter: &str, calls: &str| {
            let text = format!(
                "struct S {{ float v[4]; }};\n__device__ void f(int at, {parameter}) {{ a[at] = 0; }}\n\
                 __global__ void k(float* in, S* s, int n) {{ float x[12], y[12], z[8]; {calls} }}\n"
            );
            let tree = Rc::new(SyntaxTree::example("a.cu", &text));
            let holder = Holder::at(&tree, text.find("a[at]").unwrap()).unwrap();
            holder.is_bounded().then(|| holder.given_extents().map(|extents| extents.join(" ")))
        };
        for parameter in ["float *a", "float a[8]", "float a[]", "float *const a"] {
            let known = Some(Some("12".to_string()));
            assert_eq!(bound(parameter, "f(n, x); f(2, y);"), known, "{parameter}");
            for calls in
                ["f(n, x); f(n, z);", "f(n, x); f(n, in);", "f(n, x + 2);", "f(n, s->v);", "auto g = f; f(n, x);", ""]
            {
                assert_eq!(bound(parameter, calls), None, "{parameter} {calls}");
            }
        }
        // What a reference is declared with is what it is bound to.
        assert_eq!(bound("float (&a)[8]", "f(n, z);"), Some(None));
    }

    #[test]
    fn a_member_has_the_extent_of_each_instance() {
        let extent = |head: &str| {
            let text =
                format!("#include \"best.cuh\"\n{head} __global__ void k(int n) {{ Best best; best.idx[n] = 0; }}\n");
            let example = Example::new(&text);
            let (trees, facts) = (example.trees(), UnitFacts::default());
            let tree = trees.tree(trees.id(Example::NAME).unwrap());
            let declared = text.find("best;").unwrap();
            let mut object = FrameObject::new(StackObjectKind::Variable, 32);
            object.variable = Some(Variable {
                name: "best".to_string(),
                type_text: "Best".to_string(),
                kind: DeclarationKind::Aggregate,
                is_parameter: false,
                volatility: None,
                initializer: None,
                sharing: Vec::new(),
                members: vec![("idx".to_string(), "int[8]".to_string())],
                bytes: Some(32),
                span: tree.span(declared..declared + 4).unwrap(),
            });
            let object = StackObject::new(&object, &facts, &trees);
            let holder = Holder::at(tree, declared).unwrap();
            let path = Path::of(tree.node_at(text.find("best.idx").unwrap()).unwrap()).unwrap();
            holder.extent(&path, 1, &object)
        };
        assert_eq!(extent("").as_deref(), Some("8"));
        assert_eq!(extent("template <int K>").as_deref(), Some("sizeof(best.idx) / sizeof(best.idx[0])"));
    }

    #[test]
    fn plain_extents() {
        for (text, expected) in [
            ("8", true),
            ("W + 1", true),
            ("(N * 2)", true),
            ("sizeof(x)", true),
            ("a[0]", false),
            ("", false),
            ("a ? 1 : 2", false),
        ] {
            assert_eq!(is_plain_extent(text), expected, "{text}");
        }
    }
}
