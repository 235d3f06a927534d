//! Loops with a run-time bound: the kind of bound, and whether another bound would keep the meaning.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Binary, Field, Kind, Member, Node, Update};
use cuda_syntax::tree::{DeclarationKind, access_path, enclosing_function, resolve, role};

use super::body::is_automatic;
use super::header::{start_before, step};
use crate::rewrite::facts::getter::is_steady_call;
use crate::rewrite::facts::integers::{is_int, plain_words};
use crate::rewrite::facts::steady::{is_handed_out, is_reachable, is_steady, keeps_first_value, may_write};

/// Threads of a block.
const MOST_THREADS: i64 = 1024;
/// No array in registers has more elements, so that no loop over one runs more often.
const MOST_ROUNDS: i64 = 1024;

/// The part of a loop header that is known at run time only.
pub(super) enum Bound<'t> {
    /// `n` of `int i = 0; i < n; ++i`.
    Upper,
    /// `n` of `int i = n; i >= 0; --i`.
    Start(Node<'t>),
    /// `n` of `int i = n; i-- > 0;`: the first value is above that of the first round.
    Above(Node<'t>),
    /// `n` of `int i = 7; i > n; --i`: the part of the header that is compared, and whether it is a value of the last round.
    Lower { bound: Node<'t>, is_reached: bool },
}

/// The run-time bound of a loop, if only its header changes the induction variable and no code uses the variable after
/// the loop.
pub(super) fn open_bound<'t>(
    tree: &SyntaxTree,
    node: Node<'t>,
    condition: Node<'t>,
    body: Node<'t>,
    counter: &str,
) -> Option<Bound<'t>> {
    let constant = |node: Node<'_>| tree.value_of(node);
    let initializer = node.field(Field::Initializer);
    let kind = counter_kind(tree, node, initializer, counter)?;
    let mut is_alone = true;
    let start = match initializer.map(|initializer| (initializer, initializer.kind())) {
        Some((initializer, Kind::Declaration)) => {
            // What else the header declares must not begin at another value.
            is_alone = initializer.fields(Field::Declarator).count() == 1;
            initializer.field(Field::Declarator)?.field(Field::Value)?
        }
        Some((initializer, Kind::AssignmentExpression)) => {
            initializer.field(Field::Right).filter(|_| is_counter_of_loops(tree, initializer, counter))?
        }
        Some(_) => return None,
        None => start_before(tree, node, counter).filter(|_| is_counter_of(tree, node, counter))?,
    };
    if may_write(tree, body, counter) || is_handed_out(tree, node, counter) {
        return None;
    }
    let Some(update) = node.field(Field::Update) else {
        let is_alike = kind == CounterKind::Int && is_int(tree, start) || is_of_type_of(tree, start, node, counter);
        let is_first = initializer.is_some() || is_directly_before(tree, node, start);
        let is_fit = is_alike && is_alone && is_first && is_steady_value(tree, start, body, counter);
        return (is_fit && is_countdown(tree, condition, counter)).then_some(Bound::Above(start));
    };
    let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
    if tree.slice(target) != counter {
        return None;
    }
    match (step(tree, update)?, constant(start)) {
        (1.., Some(0..)) => is_steady_bound(tree, condition, body, counter).then_some(Bound::Upper),
        // In a triangular nest: each copy of the loop has its start.
        (1.., None) if rises(tree, start) => is_steady_bound(tree, condition, body, counter).then_some(Bound::Upper),
        // With a larger step, starting at the last index would visit other elements.
        (-1, None) if kind == CounterKind::Int && initializer.is_some() && is_alone => {
            // The end may be the counter of a loop around, which each copy of the loop knows.
            let end = condition.field(Field::Right)?;
            let is_down = condition.kind() == Kind::BinaryExpression
                && tree.slice(condition.field(Field::Left)?) == counter
                && matches!(condition.operator()?, ">" | ">=")
                && (constant(end).is_some_and(|end| end >= 0) || rises(tree, end))
                && is_steady_value(tree, start, body, counter)
                && is_int(tree, start);
            is_down.then_some(Bound::Start(start))
        }
        (-1, Some(0..)) if kind == CounterKind::Int && initializer.is_some() => {
            let bound = condition.field(Field::Right).filter(|bound| constant(*bound).is_none())?;
            let is_down = condition.kind() == Kind::BinaryExpression
                && tree.slice(condition.field(Field::Left)?) == counter
                && is_steady_value(tree, bound, body, counter)
                && is_int(tree, bound);
            match condition.operator()? {
                ">" if is_down => Some(Bound::Lower { bound, is_reached: false }),
                ">=" if is_down => Some(Bound::Lower { bound, is_reached: true }),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a loop follows the statement that has a first value directly, so that nothing is written between them.
fn is_directly_before(tree: &SyntaxTree, node: Node<'_>, start: Node<'_>) -> bool {
    let before = node.prev_named_sibling().filter(|before| before.byte_range().contains(&start.start_byte()));
    let declared = before.map(|before| before.fields(Field::Declarator).count());
    declared.is_some_and(|count| count <= 1) && tree.is_plain(node)
}

/// `i-- > 0`, `i--`
pub(super) fn is_countdown(tree: &SyntaxTree, condition: Node<'_>, counter: &str) -> bool {
    let condition = condition.without_parentheses();
    let (stepped, bound) = match Binary::of(condition) {
        Some(binary) if matches!(binary.operator(), Some(">" | "!=")) => (binary.left(), binary.right()),
        Some(_) => return false,
        None => (Some(condition), None),
    };
    let is_zero = bound.is_none_or(|bound| tree.value_of(bound) == Some(0));
    let stepped = stepped.and_then(|it| Update::of(it.without_parentheses()));
    let operand = stepped.filter(|it| it.operator() == Some("--") && !it.is_prefix()).and_then(Update::operand);
    is_zero && operand.is_some_and(|operand| tree.slice(operand) == counter)
}

/// Whether an expression is a variable of the type of a loop's induction variable.
fn is_of_type_of(tree: &SyntaxTree, expression: Node<'_>, node: Node<'_>, counter: &str) -> bool {
    let types = || {
        let all = tree.declarations(enclosing_function(node)?);
        let type_of = |name: &str, at: usize| Some(plain_words(&resolve(&all, name, at)?.type_text));
        let body = node.field(Field::Body)?;
        Some(type_of(tree.slice(expression), expression.start_byte())? == type_of(counter, body.start_byte())?)
    };
    expression.kind() == Kind::Identifier && types().unwrap_or(false)
}

/// Whether the start of a loop is not negative: a constant, or what [`rises`].
pub(in crate::rewrite) fn begins_at_zero_or_above(tree: &SyntaxTree, start: Node<'_>) -> bool {
    tree.value_of(start).is_some_and(|value| value >= 0) || rises(tree, start)
}

/// Whether an expression is a sum of constants and induction variables of loops around, none of which is negative, or has some of
/// its bits.
fn rises(tree: &SyntaxTree, start: Node<'_>) -> bool {
    let start = start.without_parentheses();
    match start.kind() {
        Kind::BinaryExpression => {
            let (left, right) = (start.field(Field::Left), start.field(Field::Right));
            let rises = |part: Option<Node<'_>>| part.is_some_and(|part| rises(tree, part));
            let is_constant = |part: Option<Node<'_>>| {
                part.and_then(|it| tree.value_of(it)).is_some_and(|value| (1..=MOST_ROUNDS).contains(&value))
            };
            match start.operator() {
                Some("+") => rises(left) && rises(right),
                Some("&" | "%" | "/" | ">>") => rises(left) && is_constant(right),
                _ => false,
            }
        }
        Kind::Identifier if tree.value_of(start).is_none() => is_counted_up(tree, start),
        _ => tree.value_of(start).is_some_and(|value| (0..=MOST_ROUNDS).contains(&value)),
    }
}

/// Whether a name is the induction variable of a loop around, which starts at zero or above and counts up, or counts
/// down to zero at least.
pub(super) fn is_counted_up(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let counter = tree.slice(name);
    let found = || {
        let all = tree.declarations(enclosing_function(name)?);
        let own = resolve(&all, counter, name.start_byte()).filter(|own| own.type_text == "int")?;
        let is_own =
            |node: &Node<'_>| node.field(Field::Initializer).is_some_and(|it| it.byte_range().contains(&own.range.0));
        let node = name.ancestors().filter(|it| it.kind() == Kind::ForStatement).find(is_own)?;
        let value = node.field(Field::Initializer)?.field(Field::Declarator)?.field(Field::Value)?;
        let (update, condition) = (node.field(Field::Update)?, node.field(Field::Condition)?);
        let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
        let is_not_negative = |node: Option<Node<'_>>| tree.value_of(node?).filter(|value| *value >= 0);
        let is_bounded = match step(tree, update)? {
            1.. => is_not_negative(Some(value)).is_some() || rises(tree, value),
            _ => {
                matches!(condition.operator()?, ">" | ">=")
                    && tree.slice(condition.field(Field::Left)?) == counter
                    && is_not_negative(condition.field(Field::Right)).is_some()
            }
        };
        let body = node.field(Field::Body)?;
        let is_kept = tree.slice(target) == counter
            && !may_write(tree, body, counter)
            && !is_reachable(tree, enclosing_function(name)?, counter);
        Some(is_bounded && is_kept)
    };
    found().unwrap_or(false)
}

/// Whether only the header of a loop changes its induction variable, from a constant upwards.
pub(in crate::rewrite) fn rises_from_constant(
    tree: &SyntaxTree,
    node: Node<'_>,
    body: Node<'_>,
    counter: &str,
) -> bool {
    let rises = || {
        let initializer = node.field(Field::Initializer);
        counter_kind(tree, node, initializer, counter).filter(|kind| !matches!(kind, CounterKind::Narrow(_)))?;
        let start = match initializer.map(|initializer| (initializer, initializer.kind())) {
            Some((initializer, Kind::Declaration)) => initializer.field(Field::Declarator)?.field(Field::Value)?,
            Some((initializer, Kind::AssignmentExpression)) => initializer.field(Field::Right)?,
            Some(_) => return None,
            None => start_before(tree, node, counter)?,
        };
        let update = node.field(Field::Update)?;
        let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
        let is_own = tree.slice(target) == counter
            && !may_write(tree, body, counter)
            && !is_reachable(tree, enclosing_function(node)?, counter);
        let is_start = tree.value_of(start).is_some_and(|value| value >= 0);
        let all = tree.declarations(enclosing_function(node)?);
        let is_own = is_own && is_automatic(tree, resolve(&all, counter, body.start_byte())?.range.0);
        Some(is_own && is_start && step(tree, update)? > 0)
    };
    rises().unwrap_or(false)
}

/// Whether a local integer starts at a constant before a loop, and all that the loop does to it is to count it up.
pub(super) fn is_counted_in_body(tree: &SyntaxTree, node: Node<'_>, counter: &str) -> bool {
    let counted = || {
        let function = enclosing_function(node)?;
        let header = node.field(Field::Initializer).filter(|_| declared_in_header(tree, node, counter).is_some());
        counter_kind(tree, node, header, counter)?;
        let all = tree.declarations(function);
        let body = node.field(Field::Body)?;
        let own = resolve(&all, counter, body.start_byte()).filter(|own| own.kind == DeclarationKind::Scalar)?;
        let assigned = assigned_in_header(tree, node, counter);
        let first = declared_in_header(tree, node, counter).or(assigned);
        let first = first.or_else(|| start_before(tree, node, counter))?;
        let start = tree.value_of(first).filter(|start| *start >= 0)?;
        let is_step = |name: &Node<'_>| {
            let whole = name.parent()?;
            let target = whole.field(Field::Argument).or_else(|| whole.field(Field::Left))?;
            Some(target == *name && step(tree, whole)? > 0)
        };
        let names = tree.names_of(node, &all, own);
        let header = node.field(Field::Initializer).filter(|_| assigned.is_some()).map(|it| it.byte_range());
        let is_header = |name: &Node<'_>| {
            name.start_byte() == own.range.0 || header.as_ref().is_some_and(|it| it.contains(&name.start_byte()))
        };
        let mut writes = names.into_iter().filter(|name| role(access_path(*name)).1 && !is_header(name));
        let is_counted = writes.next().is_some_and(|only| is_step(&only).unwrap_or(false)) && writes.next().is_none();
        let is_own = is_automatic(tree, own.range.0) && !is_reachable(tree, function, counter);
        Some(is_counted && is_own && start < MOST_ROUNDS)
    };
    counted().unwrap_or(false)
}

/// The value that the header of a loop gives to a variable beside others: `i = 0, k = 3`.
fn assigned_in_header<'t>(tree: &SyntaxTree, node: Node<'t>, counter: &str) -> Option<Node<'t>> {
    let initializer = node.field(Field::Initializer).filter(|it| it.kind() == Kind::CommaExpression)?;
    let assigned = initializer.descendants().filter_map(Assignment::of).filter(|it| it.is_plain());
    let mut own = assigned.filter(|it| it.left().is_some_and(|name| tree.slice(name) == counter));
    let value = own.next()?.right();
    value.filter(|_| own.next().is_none() && tree.named(initializer, counter).count() == 1)
}

/// The first value of a variable that the header of a loop declares, beside others: `int i = t, k = 0`.
fn declared_in_header<'t>(tree: &SyntaxTree, node: Node<'t>, counter: &str) -> Option<Node<'t>> {
    let initializer = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
    let mut declarators = initializer.fields(Field::Declarator);
    let own = declarators.find(|it| it.field(Field::Declarator).is_some_and(|name| tree.slice(name) == counter))?;
    own.field(Field::Value)
}

/// Whether the value that a loop leaves in its induction variable may be used.
pub(super) fn is_used_behind(tree: &SyntaxTree, node: Node<'_>, counter: &str) -> bool {
    match node.field(Field::Initializer).map(|initializer| (initializer, initializer.kind())) {
        Some((_, Kind::Declaration)) => false,
        Some((initializer, _)) => !is_counter_of_loops(tree, initializer, counter),
        None => !is_counter_of(tree, node, counter),
    }
}

/// Types of induction variables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CounterKind {
    Int,
    /// Unsigned, or 64 bits wide.
    Other,
    /// Narrower than an `int`, with its largest value: it wraps around behind that, and arithmetic makes an `int` of it.
    Narrow(i64),
}

/// Whether a loop's induction variable, counted up by `step`, does not wrap around before it is `most` or more.
pub(super) fn reaches(tree: &SyntaxTree, node: Node<'_>, counter: &str, most: Option<i64>, step: i64) -> bool {
    match counter_kind(tree, node, node.field(Field::Initializer), counter) {
        Some(CounterKind::Narrow(largest)) => {
            most.and_then(|most| most.checked_add(step)).is_some_and(|beyond| beyond - 1 <= largest)
        }
        kind => kind.is_some(),
    }
}

/// Whether a loop's induction variable may wrap around and come back to elements that were visited.
pub(super) fn may_come_back(tree: &SyntaxTree, node: Node<'_>, counter: &str) -> bool {
    let kind = counter_kind(tree, node, node.field(Field::Initializer), counter);
    !matches!(kind, Some(CounterKind::Int | CounterKind::Other))
}

/// `None` for other types: a floating-point value may skip the bound.
fn counter_kind(
    tree: &SyntaxTree,
    node: Node<'_>,
    initializer: Option<Node<'_>>,
    counter: &str,
) -> Option<CounterKind> {
    let text = match initializer.filter(|initializer| initializer.kind() == Kind::Declaration) {
        Some(initializer) => plain_words(tree.slice(initializer.field(Field::Type)?)),
        None => {
            let all = tree.declarations(enclosing_function(node)?);
            resolve(&all, counter, initializer.unwrap_or(node).start_byte())?.type_text.clone()
        }
    };
    let is_wide =
        matches!(
            text.as_str(),
            "unsigned" | "unsigned int" | "uint" | "long" | "long long" | "unsigned long" | "unsigned long long"
        ) || matches!(text.trim_start_matches("std::"), "size_t" | "ptrdiff_t" | "uint32_t" | "int64_t" | "uint64_t");
    match text.trim_start_matches("std::") {
        "int" | "int32_t" | "signed" | "signed int" => Some(CounterKind::Int),
        _ if is_wide => Some(CounterKind::Other),
        // `char` has a sign or none.
        "char" | "signed char" | "int8_t" => Some(CounterKind::Narrow(i64::from(i8::MAX))),
        "unsigned char" | "uint8_t" => Some(CounterKind::Narrow(i64::from(u8::MAX))),
        "short" | "short int" | "signed short" | "int16_t" => Some(CounterKind::Narrow(i64::from(i16::MAX))),
        "unsigned short" | "unsigned short int" | "ushort" | "uint16_t" => {
            Some(CounterKind::Narrow(i64::from(u16::MAX)))
        }
        _ => None,
    }
}

/// Whether a variable declared before its loops is used only in such loops, so that its value after a loop is not used.
fn is_counter_of_loops(tree: &SyntaxTree, initializer: Node<'_>, counter: &str) -> bool {
    let found = || {
        let function = enclosing_function(initializer)?;
        let all = tree.declarations(function);
        let own = resolve(&all, counter, initializer.start_byte())?;
        let is_own_value = own.kind == DeclarationKind::Scalar && !own.is_parameter && own.volatility.is_none();
        let mut uses = tree.names_of(function, &all, own).into_iter();
        let is_counted = |node: Node<'_>| {
            let mut around = Some(node);
            while let Some(current) = around {
                let sets = current.field(Field::Initializer).filter(|it| it.kind() == Kind::AssignmentExpression);
                let (target, value) =
                    (sets.and_then(|sets| sets.field(Field::Left)), sets.and_then(|sets| sets.field(Field::Right)));
                // The start value may be what the previous loop left in the variable.
                let is_start = value.is_some_and(|value| value.byte_range().contains(&node.start_byte()));
                if target.is_some_and(|target| tree.slice(target) == counter) && !is_start {
                    return true;
                }
                around = current.parent().filter(|_| current.kind() != Kind::LambdaExpression);
            }
            false
        };
        Some(is_own_value && uses.all(is_counted) && !is_reachable(tree, function, counter))
    };
    found().unwrap_or(false)
}

/// Whether a variable declared before a loop is used in that loop only.
fn is_counter_of(tree: &SyntaxTree, node: Node<'_>, counter: &str) -> bool {
    let Some(function) = enclosing_function(node) else { return false };
    let all = tree.declarations(function);
    let Some(own) = resolve(&all, counter, node.start_byte()) else { return false };
    let is_own_value = own.kind == DeclarationKind::Scalar && !own.is_parameter && own.volatility.is_none();
    // In a loop around this one, the variable is declared, and starts, again.
    let mut uses = tree.names_of(function, &all, own).into_iter();
    is_own_value
        && uses.all(|used| node.byte_range().contains(&used.start_byte()))
        && !is_reachable(tree, function, counter)
}

/// `i < n`, `i <= n` or `threadIdx.x + i * 256 < n`, if `n` is loop-invariant.
pub(super) fn is_steady_bound(tree: &SyntaxTree, condition: Node<'_>, body: Node<'_>, counter: &str) -> bool {
    let Some(comparison) = Binary::of(condition) else { return false };
    let (Some(left), Some(bound)) = (comparison.left(), comparison.right()) else { return false };
    let rises = || {
        let most = largest(tree, left, counter);
        most.is_some_and(|most| most < i64::from(i32::MAX)) && tree.named(left, counter).count() == 1
    };
    (tree.slice(left) == counter || rises())
        && matches!(comparison.operator(), Some("<" | "<="))
        && is_steady_value(tree, bound, body, counter)
}

/// The largest value of a sum of thread indices, constants and multiples of the induction variable, none of which is
/// negative. Such a sum rises with the induction variable and does not overflow in the iterations up to the extent
/// either: once the condition is false it stays false.
pub(in crate::rewrite) fn largest(tree: &SyntaxTree, expression: Node<'_>, counter: &str) -> Option<i64> {
    let expression = expression.without_parentheses();
    let part = |node: Option<Node<'_>>| largest(tree, node?, counter);
    match expression.kind() {
        Kind::Identifier if tree.slice(expression) == counter => Some(MOST_ROUNDS),
        Kind::BinaryExpression => {
            let (left, right) = (expression.field(Field::Left), expression.field(Field::Right));
            match expression.operator()? {
                "+" => part(left)?.checked_add(part(right)?),
                "*" => part(left)?.checked_mul(part(right)?),
                // The bits of a constant, whatever the other side is; those of the induction variable do not rise.
                "&" if tree.named(left?, counter).next().is_none() => tree.value_of(right?).filter(|mask| *mask >= 0),
                _ => None,
            }
        }
        Kind::FieldExpression => match tree.slice(expression) {
            "threadIdx.x" | "threadIdx.y" | "threadIdx.z" => Some(MOST_THREADS - 1),
            "blockDim.x" | "blockDim.y" | "blockDim.z" => Some(MOST_THREADS),
            _ => None,
        },
        _ => match tree.value_of(expression) {
            Some(value) => (value >= 0).then_some(value),
            None => {
                let function = enclosing_function(expression)?;
                let all = tree.declarations(function);
                let own = resolve(&all, tree.slice(expression), expression.start_byte())?;
                let (start, end) = own.initializer.filter(|_| own.kind == DeclarationKind::Scalar)?;
                let is_index = tree.text().get(start..end)?.trim().starts_with("threadIdx.")
                    && tree.text().get(start..end)?.trim().len() == "threadIdx.x".len();
                let is_kept = keeps_first_value(tree, function, &all, own)
                    && matches!(
                        plain_words(&own.type_text).as_str(),
                        "int" | "unsigned" | "unsigned int" | "auto" | "uint"
                    );
                (is_index && is_kept).then_some(MOST_THREADS - 1)
            }
        },
    }
}

/// Whether a bound is loop-invariant.
pub(super) fn is_steady_value(tree: &SyntaxTree, bound: Node<'_>, body: Node<'_>, counter: &str) -> bool {
    if bound.kind() == Kind::CallExpression {
        return is_steady_call(tree, bound, body);
    }
    let names = tree.identifiers(bound);
    is_arithmetic(bound)
        && !names.is_empty()
        && names.into_iter().all(|name| is_steady(tree, name, body) && tree.slice(name) != counter)
}

/// Whether an expression has only numbers, names, members, and their sums and products.
fn is_arithmetic(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Identifier | Kind::NumberLiteral | Kind::FieldIdentifier => true,
        Kind::BinaryExpression | Kind::ParenthesizedExpression => node.named_children().all(is_arithmetic),
        Kind::FieldExpression => {
            let object = Member::of(node).filter(|member| member.is_of_object()).and_then(Member::object);
            object.is_some_and(|object| object.kind() == Kind::Identifier)
        }
        _ => false,
    }
}
