//! Control-flow graph of a function: basic blocks, dominators, post-dominators, loops.
//!
//! All algorithms are near-linear in the number of instructions: the input may be hostile and large.

use crate::module::Function;

/// A basic block: an index into [`Graph::blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(pub u32);

impl Block {
    /// As a `Vec` index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    fn of(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// A basic block: its instructions and its edges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockInfo {
    /// Index of the first instruction.
    pub start: u32,
    /// Index after the last instruction.
    pub end: u32,
    /// Successors, without duplicates; the fall-through block first.
    pub successors: Vec<Block>,
    /// Predecessors, without duplicates.
    pub predecessors: Vec<Block>,
    /// Whether a thread may exit or return here.
    pub may_leave: bool,
}

/// An instruction that ends a block: of PTX, or of machine code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jump {
    /// Index of the instruction.
    pub at: u32,
    /// Indices of the instructions that it may lead to. Without any, threads exit or return here.
    pub targets: Vec<u32>,
    /// Whether the next instruction may follow.
    pub falls_through: bool,
}

/// The control-flow graph of a function. Blocks are in text order. Block 0 is the entry of PTX; machine code may have several
/// functions in one section, and an entry for each. A function without instructions has no block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The basic blocks.
    pub blocks: Vec<BlockInfo>,
    /// Block of each instruction.
    block_of: Vec<Block>,
    /// The blocks where code is entered.
    entries: Vec<Block>,
}

impl Graph {
    /// Builds the control-flow graph of a function.
    pub fn new(function: &Function) -> Self {
        let ends = function.instructions.iter().enumerate().filter(|(_, instruction)| instruction.ends_block());
        let jumps = ends.map(|(index, instruction)| Jump {
            at: u32::try_from(index).unwrap_or(u32::MAX),
            targets: function.targets(instruction),
            falls_through: !instruction.ends_block_always(),
        });
        Self::of_jumps(function.instructions.len(), &jumps.collect::<Vec<_>>(), &[0])
    }

    /// Builds the control-flow graph of so many instructions from those among them that end a block, in order, and those where
    /// code is entered.
    pub fn of_jumps(count: usize, jumps: &[Jump], entries: &[u32]) -> Self {
        let mut is_leader = vec![false; count + 1];
        is_leader[0] = true;
        let behind = jumps.iter().map(|jump| jump.at.saturating_add(1));
        for leader in
            behind.chain(jumps.iter().flat_map(|jump| jump.targets.iter().copied())).chain(entries.iter().copied())
        {
            if let Some(is_leader) = is_leader.get_mut(leader as usize) {
                *is_leader = true;
            }
        }
        let mut graph = Self { blocks: Vec::new(), block_of: Vec::with_capacity(count), entries: Vec::new() };
        for (index, is_leader) in is_leader[..count].iter().enumerate() {
            let at = u32::try_from(index).unwrap_or(u32::MAX);
            if *is_leader {
                graph.blocks.push(BlockInfo { start: at, end: at, ..BlockInfo::default() });
            }
            if let Some(block) = graph.blocks.last_mut() {
                block.end = at + 1;
            }
            graph.block_of.push(Block::of(graph.blocks.len() - 1));
        }
        graph.entries = entries.iter().filter_map(|entry| graph.block_of(*entry as usize)).collect();
        graph.entries.sort_unstable();
        graph.entries.dedup();
        graph.connect(jumps);
        graph
    }

    fn connect(&mut self, jumps: &[Jump]) {
        let mut jumps = jumps.iter().peekable();
        // For each block, the last block that has an edge to it: prevents duplicate edges.
        let mut seen = vec![u32::MAX; self.blocks.len()];
        for index in 0..self.blocks.len() {
            let last = self.blocks[index].end - 1;
            let jump = jumps.next_if(|jump| jump.at == last);
            let mut next = Vec::new();
            let mut may_leave = jump.is_some_and(|jump| jump.targets.is_empty());
            let behind = jump.is_none_or(|jump| jump.falls_through).then_some(last + 1);
            for target in behind.into_iter().chain(jump.into_iter().flat_map(|jump| jump.targets.iter().copied())) {
                match self.block_of(target as usize) {
                    Some(block) => next.push(block),
                    None => may_leave = true,
                }
            }
            next.retain(|block| std::mem::replace(&mut seen[block.index()], index as u32) != index as u32);
            for block in &next {
                self.blocks[block.index()].predecessors.push(Block::of(index));
            }
            self.blocks[index].successors = next;
            self.blocks[index].may_leave = may_leave;
        }
    }

    /// The block of an instruction.
    pub fn block_of(&self, instruction: usize) -> Option<Block> {
        self.block_of.get(instruction).copied()
    }

    /// The block with an ID.
    pub fn block(&self, block: Block) -> &BlockInfo {
        &self.blocks[block.index()]
    }

    /// Computes dominators: the blocks on all paths from an entry to a block.
    pub fn dominators(&self) -> Dominators {
        let successors: Vec<Vec<u32>> = self.blocks.iter().map(|block| numbers(&block.successors)).collect();
        let predecessors: Vec<Vec<u32>> = self.blocks.iter().map(|block| numbers(&block.predecessors)).collect();
        Dominators::new(&successors, &predecessors, &numbers(&self.entries))
    }

    /// Computes post-dominators: the blocks on all paths from a block to an exit, where diverged threads reconverge.
    ///
    /// Blocks without a path to an exit, such as those of an infinite loop, have none.
    pub fn post_dominators(&self) -> Dominators {
        let successors: Vec<Vec<u32>> = self.blocks.iter().map(|block| numbers(&block.predecessors)).collect();
        let predecessors: Vec<Vec<u32>> = self.blocks.iter().map(|block| numbers(&block.successors)).collect();
        let ends = self.blocks.iter().enumerate().filter(|(_, block)| block.may_leave);
        let roots: Vec<u32> = ends.map(|(index, _)| Block::of(index).0).collect();
        Dominators::new(&successors, &predecessors, &roots)
    }
}

fn numbers(blocks: &[Block]) -> Vec<u32> {
    blocks.iter().map(|block| block.0).collect()
}

/// A dominator tree, with a virtual root before all given roots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dominators {
    /// Immediate dominator of each block; `None` for roots and unreachable blocks.
    immediate: Vec<Option<Block>>,
    /// Preorder interval of each block's subtree in the dominator tree; (1, 0) if the block is unreachable.
    interval: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

impl Dominators {
    /// Lengauer and Tarjan, "A fast algorithm for finding dominators in a flowgraph", 1979; the simple version with
    /// path compression.
    fn new(successors: &[Vec<u32>], predecessors: &[Vec<u32>], roots: &[u32]) -> Self {
        let count = successors.len();
        let root = count as u32;
        let nodes = count + 1;
        let mut is_root = vec![false; count];
        roots.iter().for_each(|node| is_root[*node as usize] = true);
        // Depth-first preorder.
        let mut order: Vec<u32> = Vec::with_capacity(nodes);
        let mut number = vec![NONE; nodes];
        let mut parent = vec![NONE; nodes];
        let mut stack: Vec<(u32, u32)> = vec![(root, NONE)];
        while let Some((node, from)) = stack.pop() {
            if number[node as usize] != NONE {
                continue;
            }
            number[node as usize] = order.len() as u32;
            parent[node as usize] = from;
            order.push(node);
            let next = if node == root { roots } else { &successors[node as usize] };
            stack.extend(next.iter().rev().map(|next| (*next, node)));
        }
        let mut semi = number.clone();
        let mut label: Vec<u32> = (0..nodes as u32).collect();
        let mut ancestor = vec![NONE; nodes];
        let mut dominator = vec![NONE; nodes];
        let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut path = Vec::new();
        for node in order.iter().skip(1).rev().copied() {
            let above = parent[node as usize];
            let from_root = is_root[node as usize].then_some(root);
            for before in predecessors[node as usize].iter().copied().chain(from_root) {
                if number[before as usize] != NONE {
                    let best = evaluate(before, &mut ancestor, &mut label, &semi, &mut path);
                    semi[node as usize] = semi[node as usize].min(semi[best as usize]);
                }
            }
            buckets[order[semi[node as usize] as usize] as usize].push(node);
            ancestor[node as usize] = above;
            for member in std::mem::take(&mut buckets[above as usize]) {
                let best = evaluate(member, &mut ancestor, &mut label, &semi, &mut path);
                let is_earlier = semi[best as usize] < semi[member as usize];
                dominator[member as usize] = if is_earlier { best } else { above };
            }
        }
        for node in order.iter().skip(1).copied() {
            if dominator[node as usize] != order[semi[node as usize] as usize] {
                dominator[node as usize] = dominator[dominator[node as usize] as usize];
            }
        }
        let immediate: Vec<Option<Block>> =
            dominator[..count].iter().map(|node| (*node < root).then_some(Block(*node))).collect();
        Self { interval: intervals(&order, &dominator, count), immediate }
    }

    /// The immediate dominator of a block.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.immediate.get(block.index()).copied().flatten()
    }

    /// Whether `by` dominates `block`; a block dominates itself.
    pub fn dominates(&self, by: Block, block: Block) -> bool {
        match (self.interval.get(by.index()), self.interval.get(block.index())) {
            (Some((first, last)), Some((at, end))) => at <= end && (first..=last).contains(&at),
            _ => false,
        }
    }

    /// Whether the block is reachable.
    pub fn is_reached(&self, block: Block) -> bool {
        self.interval.get(block.index()).is_some_and(|(first, last)| first <= last)
    }
}

/// The node with the smallest semidominator on the path to the forest's root; compresses the path.
fn evaluate(node: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32], path: &mut Vec<u32>) -> u32 {
    if ancestor[node as usize] == NONE {
        return label[node as usize];
    }
    let mut at = node;
    path.clear();
    while ancestor[ancestor[at as usize] as usize] != NONE {
        path.push(at);
        at = ancestor[at as usize];
    }
    while let Some(node) = path.pop() {
        let above = ancestor[node as usize];
        if semi[label[above as usize] as usize] < semi[label[node as usize] as usize] {
            label[node as usize] = label[above as usize];
        }
        ancestor[node as usize] = ancestor[above as usize];
    }
    label[node as usize]
}

/// Preorder intervals of the dominator tree's subtrees.
fn intervals(order: &[u32], dominator: &[u32], count: usize) -> Vec<(u32, u32)> {
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); count + 1];
    for node in order.iter().skip(1) {
        children[dominator[*node as usize] as usize].push(*node);
    }
    let mut interval = vec![(1, 0); count + 1];
    let mut next = 0;
    let mut stack = vec![(count as u32, false)];
    while let Some((node, is_done)) = stack.pop() {
        if is_done {
            interval[node as usize].1 = next - 1;
            continue;
        }
        interval[node as usize] = (next, next);
        next += 1;
        stack.push((node, true));
        stack.extend(children[node as usize].iter().rev().map(|child| (*child, false)));
    }
    interval.truncate(count);
    interval
}

/// A loop: an index into [`Loops::all`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loop(pub u32);

impl Loop {
    /// As a `Vec` index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A natural loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopInfo {
    /// The loop header: its only entry.
    pub header: Block,
    /// Latches: blocks with a back edge to the header.
    pub latches: Vec<Block>,
    /// The enclosing loop.
    pub parent: Option<Loop>,
    /// Nesting depth; 1 for an outermost loop.
    pub depth: u32,
}

/// The natural loops of a function, inner loops before outer ones.
///
/// A cycle with several entries is irreducible: no header dominates it. Such cycles are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loops {
    /// The natural loops.
    pub all: Vec<LoopInfo>,
    /// Innermost loop of each block.
    innermost: Vec<Option<Loop>>,
    /// Whether some back edge goes to a block that does not dominate its source.
    pub has_irreducible: bool,
}

impl Loops {
    /// Finds natural loops by their back edges.
    ///
    /// Headers are processed from the inside out. A union-find structure contracts an inner loop to one node for its
    /// outer loop, so each block is visited once, not once per enclosing loop.
    pub fn new(graph: &Graph, dominators: &Dominators) -> Self {
        let count = graph.blocks.len();
        let mut loops = Self { all: Vec::new(), innermost: vec![None; count], has_irreducible: false };
        let mut headers: Vec<usize> = (0..count).collect();
        // By dominator-tree preorder, the header of an inner loop comes after that of its outer loop.
        headers.sort_by_key(|block| std::cmp::Reverse(dominators.interval[*block].0));
        let mut outermost: Vec<u32> = (0..count as u32).collect();
        for header in headers.into_iter().map(Block::of).filter(|header| dominators.is_reached(*header)) {
            let before = &graph.block(header).predecessors;
            let latches: Vec<Block> =
                before.iter().copied().filter(|latch| dominators.dominates(header, *latch)).collect();
            if latches.is_empty() {
                continue;
            }
            let id = Loop(loops.all.len() as u32);
            loops.collect(graph, dominators, (header, id), &latches, &mut outermost);
            loops.all.push(LoopInfo { header, latches, parent: None, depth: 1 });
        }
        loops.nest();
        loops.has_irreducible = has_irreducible(graph, dominators);
        loops
    }

    fn collect(
        &mut self,
        graph: &Graph,
        dominators: &Dominators,
        (header, id): (Block, Loop),
        latches: &[Block],
        outermost: &mut [u32],
    ) {
        let mut work: Vec<u32> = latches.iter().map(|latch| find(outermost, latch.0)).collect();
        while let Some(node) = work.pop() {
            let node = find(outermost, node);
            if node == header.0 {
                continue;
            }
            outermost[node as usize] = header.0;
            // The node is a block without a loop so far, or the header of an inner loop.
            match self.innermost[node as usize] {
                Some(inner) => self.all[inner.index()].parent = Some(id),
                None => self.innermost[node as usize] = Some(id),
            }
            let before = graph.block(Block(node)).predecessors.iter();
            let reached = before.filter(|block| dominators.is_reached(**block)).map(|block| block.0);
            work.extend(reached.map(|block| find(outermost, block)).filter(|block| *block != header.0));
        }
        self.innermost[header.index()] = Some(id);
    }

    fn nest(&mut self) {
        for index in (0..self.all.len()).rev() {
            if let Some(parent) = self.all[index].parent {
                self.all[index].depth = self.all[parent.index()].depth + 1;
            }
        }
    }

    /// The innermost loop of a block.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.innermost.get(block.index()).copied().flatten()
    }

    /// The loop depth of a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost(block).map_or(0, |id| self.all[id.index()].depth)
    }

    /// Whether a loop contains a block, also through an inner loop.
    pub fn contains(&self, outer: Loop, block: Block) -> bool {
        let mut next = self.innermost(block);
        while let Some(id) = next {
            if id == outer {
                return true;
            }
            next = self.all[id.index()].parent;
        }
        false
    }

    /// The loops around a block, innermost first.
    pub fn around(&self, block: Block) -> impl Iterator<Item = (Loop, &LoopInfo)> {
        let with_info = |id: Loop| (id, &self.all[id.index()]);
        std::iter::successors(self.innermost(block).map(with_info), move |(_, info)| info.parent.map(with_info))
    }
}

/// Union-find lookup with path halving.
fn find(outermost: &mut [u32], mut node: u32) -> u32 {
    while outermost[node as usize] != node {
        let above = outermost[outermost[node as usize] as usize];
        outermost[node as usize] = above;
        node = above;
    }
    node
}

/// Whether depth-first search finds a retreating edge whose target does not dominate its source.
fn has_irreducible(graph: &Graph, dominators: &Dominators) -> bool {
    let mut state = vec![0u8; graph.blocks.len()];
    for entry in &graph.entries {
        if state[entry.index()] == 0 && retreats(graph, dominators, *entry, &mut state) {
            return true;
        }
    }
    false
}

fn retreats(graph: &Graph, dominators: &Dominators, entry: Block, state: &mut [u8]) -> bool {
    let mut stack: Vec<(Block, usize)> = vec![(entry, 0)];
    state[entry.index()] = 1;
    while let Some((block, next)) = stack.pop() {
        let Some(successor) = graph.block(block).successors.get(next).copied() else {
            state[block.index()] = 2;
            continue;
        };
        stack.push((block, next + 1));
        match state[successor.index()] {
            0 => {
                state[successor.index()] = 1;
                stack.push((successor, 0));
            }
            1 if !dominators.dominates(successor, block) => return true,
            _ => {}
        }
    }
    false
}
