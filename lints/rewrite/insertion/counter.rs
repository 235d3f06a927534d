//! The counter of an insertion loop: it is a local integer that only counts down, its uses in the loop and behind it are
//! indices, and nothing else reads the value at which it ends.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Binary, Field, Kind, Node, Subscript};
use cuda_syntax::tree::{Declaration, DeclarationKind, enclosing_function, resolve, role};

use crate::rewrite::facts::integers::plain_words;
use crate::rewrite::facts::steady::is_reachable;
use crate::rewrite::unroll::body::is_automatic;

/// An element whose index is the counter plus a constant: `a[j + 1]`.
#[derive(Clone, Copy)]
pub(super) struct Element<'t> {
    pub node: Node<'t>,
    pub distance: i64,
}

/// The element that a mention of the counter indexes; `None` if the mention is anything else.
pub(super) fn element<'t>(tree: &SyntaxTree, name: Node<'t>) -> Option<Element<'t>> {
    let mut index = name;
    let mut distance = 0;
    let whole = index.parent()?;
    if let Some(sum) = Binary::of(whole) {
        let (left, right) = (sum.left()?, sum.right()?);
        let other = if left == name { right } else { left };
        let constant = tree.value_of(other).filter(|value| (0..=MOST_DISTANCE).contains(value))?;
        distance = match sum.operator()? {
            "+" => constant,
            "-" if left == name => -constant,
            _ => return None,
        };
        index = whole;
    }
    let list = index.parent()?;
    let node = if list.kind() == Kind::SubscriptArgumentList { list.parent()? } else { list };
    (Subscript::of(node)?.index()? == index).then_some(Element { node, distance })
}

/// Distances from the counter that are read.
const MOST_DISTANCE: i64 = 8;

/// Integers whose value any element's number has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Signed,
    Unsigned,
}

pub(super) fn sign(own: &Declaration) -> Option<Sign> {
    let words = plain_words(&own.type_text);
    match words.trim_start_matches("std::") {
        "int" | "int32_t" | "signed" | "signed int" => Some(Sign::Signed),
        "unsigned" | "unsigned int" | "uint" | "uint32_t" | "size_t" => Some(Sign::Unsigned),
        _ => None,
    }
}

/// The first value of a counter, before its loop.
pub(super) enum Start<'t> {
    /// `int j = i - 1;` before the loop, or an assignment. The text keeps it.
    Before(Option<Node<'t>>),
    /// `for (j = i - 1; …`
    Assigned(Node<'t>),
    /// `for (int j = i; …`
    Declared(Node<'t>),
}

impl<'t> Start<'t> {
    pub fn value(&self) -> Option<Node<'t>> {
        match self {
            Self::Before(value) => *value,
            Self::Assigned(value) | Self::Declared(value) => Some(*value),
        }
    }
}

/// The declaration of the counter, its first value, and whether its last value is used in the block behind the region, which is the loop
/// and the statements behind it that belong to it; `None` if that may be elsewhere.
pub(super) fn own_counter<'t>(
    tree: &'t SyntaxTree,
    node: Node<'t>,
    end: usize,
    counter: &str,
) -> Option<(Declaration, Start<'t>, bool)> {
    let function = enclosing_function(node)?;
    let all = tree.declarations(function);
    let initializer = node.field(Field::Initializer);
    let at = node.field(Field::Body)?.start_byte();
    let own = resolve(&all, counter, at)?.clone();
    let is_fit = own.kind == DeclarationKind::Scalar
        && own.volatility.is_none()
        && is_automatic(tree, own.range.0)
        && !is_reachable(tree, function, counter);
    if !is_fit || sign(&own).is_none() {
        return None;
    }
    let names = tree.names_of(function, &all, &own);
    if let Some(declared) = initializer.filter(|it| it.kind() == Kind::Declaration) {
        let is_own = declared.byte_range().contains(&own.range.0);
        let only = declared.fields(Field::Declarator).count() == 1;
        let declarator = declared.field(Field::Declarator).filter(|it| it.kind() == Kind::InitDeclarator);
        return Some((own, Start::Declared(declarator.filter(|_| is_own && only)?.field(Field::Value)?), false));
    }
    let block = node.parent()?;
    let within = |name: &Node<'_>| block.start_byte() <= name.start_byte() && name.end_byte() <= block.end_byte();
    let declared = name_at(tree, own.range.0)?;
    let is_of_block = declared.ancestors().find(|it| it.kind() == Kind::Declaration)?.parent() == Some(block);
    let is_used_behind = names.iter().any(|name| name.start_byte() >= end);
    // Declared further out, it must be given a value in the block before anything else is done with it.
    let before: Vec<&Node<'t>> = names.iter().filter(|name| name.start_byte() < node.start_byte()).collect();
    let is_set = match before.first() {
        Some(first) => assigned_in(**first, block).is_some(),
        None => initializer.is_some(),
    };
    if own.is_parameter || !(is_of_block || (is_set && names.iter().all(within))) {
        return None;
    }
    if let Some(assigned) = initializer {
        let assignment = Assignment::of(assigned).filter(|it| it.is_plain())?;
        let is_own = assignment.left().is_some_and(|left| tree.slice(left) == counter);
        return Some((own, Start::Assigned(assignment.right().filter(|_| is_own)?), is_used_behind));
    }
    // The last statement before the loop that mentions it, if that gives it a value.
    let value = match before.last() {
        Some(last) => assigned_in(**last, block),
        None => declared.parent().filter(|it| it.kind() == Kind::InitDeclarator).and_then(|it| it.field(Field::Value)),
    };
    Some((own, Start::Before(value), is_used_behind))
}

fn name_at(tree: &SyntaxTree, offset: usize) -> Option<Node<'_>> {
    tree.root()?.named_descendant_for_byte_range(offset, offset + 1)
}

/// The value that a statement of a block assigns to a name.
fn assigned_in<'t>(name: Node<'t>, block: Node<'_>) -> Option<Node<'t>> {
    let assignment = Assignment::to(name).filter(|it| it.is_plain())?;
    let statement = assignment.node().parent().filter(|it| it.kind() == Kind::ExpressionStatement)?;
    (statement.parent() == Some(block)).then(|| assignment.right())?
}

/// Whether a mention writes the counter.
pub(super) fn is_written(name: Node<'_>) -> bool {
    role(name).1
}
