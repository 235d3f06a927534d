//! Where a variable has the value of an element: from where it gets it, along all ways, until an element is written.

use cuda_syntax::ast::{Field, Kind, Node};

/// What happens to an index, to the array, and to the elements that are read by the index.
pub(super) struct Flow<'a, 't> {
    /// The statements that give the index, and with it the variable, its value.
    sets: &'a [Node<'t>],
    /// The statements that write elements.
    writes: &'a [Node<'t>],
    reads: &'a [Node<'t>],
    /// The reads that may have another value than the variable.
    stale: Vec<usize>,
    /// The loops around, the innermost last.
    loops: Vec<Jumps>,
    levels: usize,
}

/// Whether the variable is valid; `None` where no way leads.
type State = Option<bool>;

/// The states at the jumps out of a loop, or to its next round.
#[derive(Default)]
struct Jumps {
    ended: State,
    continued: State,
}

/// What a loop does before and behind its body.
struct Head<'t> {
    before: Option<Node<'t>>,
    condition: Option<Node<'t>>,
    update: Option<Node<'t>>,
}

/// The text shows another kind of statement with a set, a write or a read in it, or nests too deep.
struct NotUnderstood;

/// Limit on loops in each other, each of which is walked up to twice.
const MOST_LOOPS: usize = 8;
/// Limit on statements in each other.
const MOST_LEVELS: usize = 128;

impl<'a, 't> Flow<'a, 't> {
    pub fn new(sets: &'a [Node<'t>], writes: &'a [Node<'t>], reads: &'a [Node<'t>]) -> Self {
        Self { sets, writes, reads, stale: Vec::new(), loops: Vec::new(), levels: 0 }
    }

    /// Whether all reads in a block have the value of the variable.
    pub fn holds(mut self, block: Node<'t>) -> bool {
        self.statement(block, Some(false)).is_ok() && self.stale.is_empty()
    }

    fn statement(&mut self, node: Node<'t>, state: State) -> Result<State, NotUnderstood> {
        if self.levels >= MOST_LEVELS || self.loops.len() > MOST_LOOPS {
            return Err(NotUnderstood);
        }
        self.levels += 1;
        let found = self.of_kind(node, state);
        self.levels -= 1;
        found
    }

    fn of_kind(&mut self, node: Node<'t>, state: State) -> Result<State, NotUnderstood> {
        match node.kind() {
            Kind::CompoundStatement => {
                node.named_children().try_fold(state, |state, child| self.statement(child, state))
            }
            Kind::IfStatement => {
                self.read_in(node.field(Field::Condition), state);
                let then = node.field(Field::Consequence).ok_or(NotUnderstood)?;
                let then = self.statement(then, state)?;
                let otherwise = match node.field(Field::Alternative) {
                    Some(other) => self.statement(other, state)?,
                    None => state,
                };
                Ok(join(then, otherwise))
            }
            Kind::ElseClause => node.parts().try_fold(state, |state, child| self.statement(child, state)),
            Kind::ForStatement => {
                let head = Head {
                    before: node.field(Field::Initializer),
                    condition: node.field(Field::Condition),
                    update: node.field(Field::Update),
                };
                self.rounds(node, &head, state, false)
            }
            Kind::WhileStatement | Kind::DoStatement => {
                let head = Head { before: None, condition: node.field(Field::Condition), update: None };
                self.rounds(node, &head, state, node.kind() == Kind::DoStatement)
            }
            Kind::BreakStatement | Kind::ContinueStatement => {
                let around = self.loops.last_mut().ok_or(NotUnderstood)?;
                let target =
                    if node.kind() == Kind::BreakStatement { &mut around.ended } else { &mut around.continued };
                *target = join(*target, state);
                Ok(None)
            }
            Kind::ReturnStatement => {
                self.read_in(Some(node), state);
                Ok(None)
            }
            Kind::ExpressionStatement | Kind::Declaration => {
                self.read_in(Some(node), state);
                Ok(match state {
                    Some(_) if self.sets.contains(&node) => Some(true),
                    Some(_) if self.writes.contains(&node) => Some(false),
                    state => state,
                })
            }
            _ if self.happens_in(node) => Err(NotUnderstood),
            _ => Ok(state),
        }
    }

    /// The rounds of a loop, until what holds at the start of a round holds for all of them.
    fn rounds(
        &mut self,
        node: Node<'t>,
        head: &Head<'t>,
        entry: State,
        is_body_first: bool,
    ) -> Result<State, NotUnderstood> {
        let body = node.field(Field::Body).ok_or(NotUnderstood)?;
        self.read_in(head.before, entry);
        let mut start = entry;
        loop {
            self.loops.push(Jumps::default());
            if !is_body_first {
                self.read_in(head.condition, start);
            }
            let end = self.statement(body, start);
            let jumps = self.loops.pop().unwrap_or_default();
            let end = join(end?, jumps.continued);
            self.read_in(head.update, end);
            if is_body_first {
                self.read_in(head.condition, end);
            }
            let next = join(start, end);
            if next == start {
                let last = if is_body_first { end } else { start };
                return Ok(join(last, jumps.ended));
            }
            start = next;
        }
    }

    fn read_in(&mut self, region: Option<Node<'t>>, state: State) {
        let Some(range) = region.filter(|_| state == Some(false)).map(|region| region.byte_range()) else { return };
        let stale = self.reads.iter().map(|read| read.start_byte()).filter(|at| range.contains(at));
        self.stale.extend(stale);
    }

    fn happens_in(&self, node: Node<'t>) -> bool {
        let range = node.byte_range();
        self.sets.iter().chain(self.writes).chain(self.reads).any(|it| range.contains(&it.start_byte()))
    }
}

/// What holds where two ways meet.
fn join(one: State, other: State) -> State {
    match (one, other) {
        (Some(one), Some(other)) => Some(one && other),
        (one, other) => one.or(other),
    }
}
