//! What makes all flags false at first, which the integer is from its declaration on.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Call, Field, Kind, Node};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{enclosing_function, resolve};
use cuda_syntax::types;
use lmem_base::diagnostic::Edit;

use crate::rewrite::facts::evaluation::is_in_lambda;
use crate::rewrite::facts::number::is_number_type;
use crate::rewrite::facts::purity::is_pure;
use crate::rewrite::shared::declaration::Declared;

/// `memset(seen, 0, sizeof seen);`
pub(super) struct ClearingCall<'t> {
    pub statement: Node<'t>,
    name: &'t str,
    /// Whether it is the statement behind the declaration.
    is_first: bool,
}

impl ClearingCall<'_> {
    /// The integer becomes 0, or begins so. Rows cannot be assigned.
    pub fn edit(&self, tree: &SyntaxTree, has_rows: bool) -> Option<Edit> {
        match self.is_first {
            true => tree.replacement(tree.without_blanks(self.statement.byte_range()), ""),
            false if has_rows => None,
            false => tree.replacement(self.statement.byte_range(), &format!("{} = 0;", self.name)),
        }
    }
}

/// The calls that set all bytes of an array to 0; `None` if `memset` may be something else. Other calls are uses of the array, which
/// end its edits.
pub(super) fn cleared_by_calls<'t>(tree: &'t SyntaxTree, declared: &Declared<'t>) -> Option<Vec<ClearingCall<'t>>> {
    let scope = declared.statement.parent()?;
    let all = tree.declarations(enclosing_function(declared.name)?);
    let name = tree.slice(declared.name);
    let is_own = |node: Node<'_>| {
        let meant = resolve(&all, name, node.start_byte()).map(|found| found.range.0);
        tree.slice(node) == name && meant == Some(declared.name.start_byte())
    };
    let sizes = declared.extents.iter().map(|extent| tree.settled_value_of(*extent));
    let sizes = sizes.collect::<Option<Vec<_>>>();
    let elements = sizes.and_then(|sizes| sizes.into_iter().try_fold(1_i64, i64::checked_mul));
    let bytes = types::size_of(tree.slice(declared.statement.field(Field::Type)?));
    let bytes = elements.zip(bytes).and_then(|(elements, bytes)| elements.checked_mul(i64::try_from(bytes).ok()?));
    let is_all = |size: Node<'_>| {
        let words: Vec<&str> = identifiers(tree.slice(size)).collect();
        let is_sizeof = size.kind() == Kind::SizeofExpression && words == ["sizeof", name];
        is_sizeof || (tree.settled_value_of(size).is_some() && tree.settled_value_of(size) == bytes)
    };
    let call_of = |call: Call<'t>| {
        let called = tree.slice(call.function()?);
        let arguments: Vec<Node<'t>> = call.arguments().collect();
        let [target, value, size] = arguments.as_slice() else { return None };
        let statement = call.node().parent().filter(|it| it.kind() == Kind::ExpressionStatement)?;
        let is_fit = matches!(called, "memset" | "std::memset" | "::memset")
            && is_own(*target)
            && matches!(tree.slice(*value), "0" | "false" | "'\\0'")
            && is_all(*size)
            && tree.is_plain(statement)
            && !is_in_lambda(statement);
        let is_first = declared.statement.next_named_sibling() == Some(statement);
        is_fit.then_some(ClearingCall { statement, name, is_first })
    };
    let found: Vec<ClearingCall<'t>> = scope.descendants().filter_map(Call::of).filter_map(call_of).collect();
    let is_that_of_c = || {
        let is_called = |node: Node<'_>| {
            let whole = node.parent().filter(|it| it.kind() == Kind::QualifiedIdentifier).unwrap_or(node);
            whole.parent().and_then(Call::of).is_some_and(|call| call.function() == Some(whole))
        };
        let mut mentions = tree.root().into_iter().flat_map(|root| tree.named(root, "memset").collect::<Vec<_>>());
        mentions.all(is_called) && !tree.is_declared_beside("memset") && tree.macros_named("memset").next().is_none()
    };
    (found.is_empty() || is_that_of_c()).then_some(found)
}

/// The loop `for (int i = 0; i < 8; ++i) seen[i] = false;` around the first use, in the block of the declaration, to which nothing leads
/// back.
pub(super) fn clearing_loop<'t>(tree: &SyntaxTree, declaration: Node<'t>, first: Node<'t>) -> Option<Node<'t>> {
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
