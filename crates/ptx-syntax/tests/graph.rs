//! Compares dominators and loops with their definitions, on random graphs.

use std::collections::BTreeSet;

use ptx_syntax::*;

fn graph(body: &str) -> Graph {
    let module = Module::parse(&format!(".entry k() {{ {body} }}")).unwrap();
    Graph::new(&module.functions[0])
}

#[test]
fn a_branch_joins_at_its_post_dominator() {
    let graph =
        graph("setp.eq.u32 %p1, %r1, 0; @%p1 bra A; add.u32 %r1, %r1, 1; bra B; A: add.u32 %r1, %r1, 2; B: ret;");
    assert_eq!(graph.blocks.len(), 4);
    assert_eq!(graph.block(Block(0)).successors, [Block(1), Block(2)]);
    assert_eq!(graph.post_dominators().immediate(Block(0)), Some(Block(3)));
    assert_eq!(graph.dominators().immediate(Block(3)), Some(Block(0)));
    assert_eq!(graph.block_of(4), Some(Block(2)));
}

#[test]
fn guarded_ends_leave_and_go_on() {
    let graph = graph("@%p1 ret; mov.u32 %r1, 0; @%p2 exit; ret;");
    assert_eq!(graph.blocks.iter().map(|block| block.may_leave).collect::<Vec<_>>(), [true, true, true]);
    assert_eq!(graph.block(Block(0)).successors, [Block(1)]);
    // A thread that exits never reconverges with the others.
    assert_eq!(graph.post_dominators().immediate(Block(0)), None);
}

#[test]
fn loops_nest() {
    let graph = graph("mov.u32 %r1, 0; A: nop; B: nop; @%p1 bra B; @%p2 bra A; C: @%p3 bra C; ret;");
    let loops = Loops::new(&graph, &graph.dominators());
    let block = |instruction| graph.block_of(instruction).unwrap();
    assert_eq!(loops.all.len(), 3);
    assert_eq!([0, 1, 2, 4, 5, 6].map(|at| loops.depth(block(at))), [0, 1, 2, 1, 1, 0]);
    let inner = loops.innermost(block(2)).unwrap();
    let outer = loops.all[inner.index()].parent.unwrap();
    assert!(loops.contains(outer, block(3)) && !loops.contains(inner, block(4)));
    assert!(!loops.has_irreducible);
    assert_eq!(loops.around(block(2)).count(), 2);
}

#[test]
fn cycles_with_two_entries_are_named() {
    let graph = graph("@%p1 bra B; A: nop; B: nop; @%p2 bra A; ret;");
    assert!(Loops::new(&graph, &graph.dominators()).has_irreducible);
}

#[test]
fn endless_loops_have_no_post_dominator() {
    let graph = graph("@%p1 bra B; A: bra A; B: ret;");
    let post = graph.post_dominators();
    assert_eq!(post.immediate(Block(0)), Some(Block(2)));
    assert!(!post.is_reached(Block(1)));
}

/// Blocks reachable from `from` without passing `without`.
fn reached(graph: &Graph, from: usize, without: Option<usize>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if Some(block) != without && seen.insert(block) {
            work.extend(graph.blocks[block].successors.iter().map(|next| next.index()));
        }
    }
    seen
}

#[test]
fn dominators_of_random_graphs_are_those_of_the_definition() {
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let count = 2 + random(14);
        let mut body = String::new();
        for block in 0..count {
            let guard = if random(4) == 0 { "" } else { "@%p1 " };
            let (target, kind) = (random(count), random(5));
            let end = if kind == 0 { "ret".to_string() } else { format!("bra L{target}") };
            body.push_str(&format!("L{block}: {guard}{end};\n"));
        }
        let graph = graph(&body);
        let dominators = graph.dominators();
        let post = graph.post_dominators();
        let all = reached(&graph, 0, None);
        for by in 0..graph.blocks.len() {
            let around = reached(&graph, 0, Some(by));
            for block in 0..graph.blocks.len() {
                let expected = all.contains(&block) && all.contains(&by) && !around.contains(&block);
                let (by, block) = (Block(by as u32), Block(block as u32));
                assert_eq!(dominators.dominates(by, block), expected, "{by:?} {block:?}\n{body}");
            }
        }
        let leaves = |set: &BTreeSet<usize>| set.iter().any(|block| graph.blocks[*block].may_leave);
        for block in 0..graph.blocks.len() {
            let can_leave = leaves(&reached(&graph, block, None));
            for by in 0..graph.blocks.len() {
                let by_leaves = leaves(&reached(&graph, by, None));
                let expected = can_leave && by_leaves && !leaves(&reached(&graph, block, Some(by)));
                let is = post.dominates(Block(by as u32), Block(block as u32));
                assert_eq!(is, expected, "post {by} {block}\n{body}");
            }
        }
        check_loops(&graph, &dominators, &all, &body);
    }
}

/// A block is in a loop if it reaches a latch without passing the header.
fn check_loops(graph: &Graph, dominators: &Dominators, all: &BTreeSet<usize>, body: &str) {
    let loops = Loops::new(graph, dominators);
    let headers: BTreeSet<usize> = loops.all.iter().map(|info| info.header.index()).collect();
    for header in all.iter().copied() {
        let before = graph.blocks[header].predecessors.iter();
        let is_latch = |latch: &&Block| dominators.dominates(Block(header as u32), **latch);
        assert_eq!(before.filter(is_latch).count() > 0, headers.contains(&header), "{header}\n{body}");
    }
    for (id, info) in (0..).map(Loop).zip(&loops.all) {
        for block in all.iter().copied() {
            let reaches = reached(graph, block, Some(info.header.index()));
            let expected =
                block == info.header.index() || info.latches.iter().any(|latch| reaches.contains(&latch.index()));
            assert_eq!(loops.contains(id, Block(block as u32)), expected, "{info:?} {block}\n{body}");
        }
    }
}
