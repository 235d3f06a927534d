//! Cooperative groups: which threads of a block a group has, and what a thread's rank in it says.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Kind, Member, Node};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{enclosing_function, resolve};

/// Groups may be parts of other groups.
const MOST_STEPS: usize = 8;
/// More threads than this are not in one tile.
const MOST_THREADS: i64 = 1024;

/// A group of threads of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All threads of the block, by their linear number.
    Block,
    /// So many consecutive threads.
    Tile(i64),
}

/// The group whose rank an expression is: `block.thread_rank()`.
pub fn group_of_rank(tree: &SyntaxTree, expression: Node<'_>) -> Option<Group> {
    let call = Call::of(expression.without_parentheses()).filter(|call| call.arguments().next().is_none())?;
    let member = Member::of(call.function()?).filter(|member| member.is_of_object())?;
    let is_rank = member.name().is_some_and(|name| tree.slice(name) == "thread_rank");
    group(tree, member.object().filter(|_| is_rank)?, MOST_STEPS)
}

/// The group that an expression makes, or that a variable keeps from its declaration on.
fn group(tree: &SyntaxTree, expression: Node<'_>, steps: usize) -> Option<Group> {
    let steps = steps.checked_sub(1)?;
    let expression = expression.without_parentheses();
    if expression.kind() == Kind::Identifier {
        let all = tree.declarations(enclosing_function(expression)?);
        let own = resolve(&all, tree.slice(expression), expression.start_byte()).filter(|own| !own.is_parameter)?;
        // Whatever is assigned to such a variable, its type says which threads the group has.
        let is_of_block =
            own.type_text.contains("thread_block") || own.type_text.split_whitespace().any(|it| it == "auto");
        let (start, end) = own.initializer.filter(|_| is_of_block)?;
        return group(tree, tree.root()?.named_descendant_for_byte_range(start, end)?, steps);
    }
    let call = Call::of(expression)?;
    let called = tree.slice(call.function()?).split_whitespace().collect::<String>();
    let (_, function) = called.split_once("::").filter(|(scope, _)| is_of_cuda(tree, scope))?;
    let mut arguments = call.arguments();
    if function == "this_thread_block" {
        return arguments.next().is_none().then_some(Group::Block);
    }
    let size = function.strip_prefix("tiled_partition<")?.strip_suffix('>')?;
    let size = tree.evaluate(size, expression.start_byte())?;
    let parent = group(tree, arguments.next().filter(|_| arguments.next().is_none())?, steps)?;
    let most = match parent {
        Group::Block => MOST_THREADS,
        Group::Tile(whole) => whole,
    };
    ((1..=most).contains(&size) && size.count_ones() == 1).then_some(Group::Tile(size))
}

/// Whether a name stands for CUDA's namespace of groups.
fn is_of_cuda(tree: &SyntaxTree, scope: &str) -> bool {
    const NAMESPACE: &str = "cooperative_groups";
    let scope = scope.trim_start_matches("::");
    let text = tree.text();
    let is_declared =
        |word: &str| text.contains(&format!("namespace {word} {{")) || text.contains(&format!("namespace {word}{{"));
    let aliases = text.matches(&format!("namespace {scope} =")).count();
    let is_alias = aliases > 0 && aliases == text.matches(&format!("namespace {scope} = {NAMESPACE};")).count();
    let is_name = !scope.is_empty() && identifiers(scope).eq([scope]);
    is_name && (scope == NAMESPACE || is_alias) && ![scope, NAMESPACE].into_iter().any(is_declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(head: &str, body: &str) -> Option<Group> {
        let text = format!("{head}\n__global__ void k(int n, cg::thread_block given) {{ {body} }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let rank = tree.nodes().filter(|node| node.kind() == Kind::CallExpression);
        rank.filter_map(|call| group_of_rank(&tree, call)).last()
    }

    #[test]
    fn ranks_are_those_of_blocks_and_tiles() {
        const HEAD: &str = "namespace cg = cooperative_groups;";
        let block = "cg::thread_block block = cg::this_thread_block();";
        for (body, expected) in [
            ("if (block.thread_rank() == 0) f();", Some(Group::Block)),
            ("auto tile = cg::tiled_partition<16>(block); f(tile.thread_rank());", Some(Group::Tile(16))),
            (
                "auto warp = cg::tiled_partition<32>(block); auto t = cg::tiled_partition<8>(warp); f(t.thread_rank());",
                Some(Group::Tile(8)),
            ),
            ("f(block.size());", None),
            ("auto g = cg::coalesced_threads(); f(g.thread_rank());", None),
            ("auto g = cg::tiled_partition(block, n); f(g.thread_rank());", None),
            ("auto g = cg::tiled_partition<64>(cg::tiled_partition<32>(block)); f(g.thread_rank());", None),
            ("auto g = cg::tiled_partition<N>(block); f(g.thread_rank());", None),
            ("auto grid = cg::this_grid(); f(grid.thread_rank());", None),
            ("cg::thread_group g = block; f(g.thread_rank());", None),
            ("{ Mine block; f(block.thread_rank()); }", None),
            ("f(given.thread_rank());", None),
            ("auto *p = &block; f(p->thread_rank());", None),
        ] {
            assert_eq!(found(HEAD, &format!("{block} {body}")), expected, "{body}");
        }
        let body = "cg::thread_block block = cg::this_thread_block(); f(block.thread_rank());";
        for head in [
            "namespace cg { struct thread_block { int thread_rank(); }; thread_block this_thread_block(); }",
            "namespace cg = mine;",
            "namespace cooperative_groups { void f(); }\nnamespace cg = cooperative_groups;",
        ] {
            assert_eq!(found(head, body), None, "{head}");
        }
        let full = body.replace("cg::", "cooperative_groups::");
        assert_eq!(found("", &full), Some(Group::Block));
    }
}
