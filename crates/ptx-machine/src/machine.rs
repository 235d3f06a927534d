//! Runs a grid. Blocks and warps run in a fixed order, each until it waits.

use std::collections::HashSet;
use std::sync::Arc;

use ptx_syntax::InitialValue;

use crate::decode::{Program, code_address};
use crate::launch::Launch;
use crate::memory::{FIRST_LOCAL, Memory, Origin, object_bits};
use crate::op::{BarrierKind, NOWHERE, Op};
use crate::outcome::{AccessCount, BlockCount, End, Event, Events, Fault, Outcome, Place, Races};
use crate::races::{Moment, Witness};
use crate::warp::{Frame, Split, State, Warp};

/// Instructions of a split before lanes that wait at a reconvergence point continue without it.
pub(crate) const SPLIT_TURN: u64 = 4_000;
/// Threads of a block, the hardware's limit.
const MAX_THREADS: u64 = 1024;

/// Why a warp stops early.
#[derive(Debug)]
pub(crate) enum Stop {
    Fault(Fault, u32),
    NotSupported(String),
    Limit,
    Deadlock(String),
}

/// A barrier of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    /// By warp: lanes that have arrived.
    pub arrived: Vec<u32>,
    /// By warp: arrived lanes whose predicate is true.
    pub votes: Vec<u32>,
    /// Number of threads to wait for; `None` for the whole block.
    pub count: Option<u32>,
    pub is_used: bool,
}

/// State of a running block.
pub(crate) struct BlockState {
    pub id: [u32; 3],
    pub shared: Vec<u8>,
    pub shared_written: Vec<u64>,
    pub warps: Vec<Warp>,
    pub gates: Vec<Gate>,
    /// How often a barrier opened.
    pub barriers: u32,
    /// Where the counts of its first warp stand in [`Run::warps`].
    pub first_warp: usize,
}

/// State of a run.
pub(crate) struct Run<'a> {
    pub program: &'a Program,
    pub launch: &'a Launch,
    pub memory: &'a mut Memory,
    pub parameters: Vec<u8>,
    /// Addresses of the module's variables.
    pub links: Vec<u64>,
    pub blocks: Vec<Vec<BlockCount>>,
    pub accesses: Vec<Vec<AccessCount>>,
    /// What each warp executed, if accesses are counted.
    pub warps: Vec<(u32, Vec<Vec<u32>>)>,
    /// Lines of global memory that were accessed, if accesses are counted.
    pub lines: HashSet<u64>,
    /// The same for local memory, by block, warp and word.
    pub local_lines: HashSet<(u32, u32, u32, u32, u64)>,
    pub events: Events,
    /// If races are noted.
    pub witness: Option<Witness>,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub printed: String,
    /// Instructions left in the warp's time slice.
    pub turn: u64,
    /// Whether memory was read that others may write concurrently: a loop that does so may be waiting for them.
    pub polls: bool,
    /// Position of the current instruction, for events.
    pub at: At,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct At {
    pub code: u32,
    pub site: u32,
    pub block: [u32; 3],
    pub warp: u32,
}

impl Program {
    /// Executes the kernel. The outcome is deterministic: equal programs, launches and memory give equal outcomes on
    /// every machine.
    pub fn run(&self, launch: &Launch, memory: &mut Memory) -> Outcome {
        let (codes, counts) = (&self.codes, launch.limits.count_accesses);
        let mut run = Run {
            program: self,
            launch,
            memory,
            parameters: Vec::new(),
            links: Vec::new(),
            blocks: codes.iter().map(|code| vec![BlockCount::default(); code.blocks]).collect(),
            accesses: codes
                .iter()
                .filter(|_| counts)
                .map(|code| vec![AccessCount::default(); code.instructions])
                .collect(),
            warps: Vec::new(),
            lines: HashSet::new(),
            local_lines: HashSet::new(),
            events: Events::default(),
            witness: launch.limits.note_races.then(Witness::default),
            warp_instructions: 0,
            thread_instructions: 0,
            printed: String::new(),
            turn: 0,
            polls: false,
            at: At::default(),
        };
        let end = match run.prepare().map_err(|fault| End::Fault(fault, None)).and_then(|()| run.grid()) {
            Ok(()) => End::Completed,
            Err(end) => end,
        };
        Outcome {
            end,
            events: run.events,
            blocks: run.blocks,
            accesses: run.accesses,
            warps: run.warps,
            global_lines: run.lines.len() as u64,
            local_lines: run.local_lines.len() as u64,
            warp_instructions: run.warp_instructions,
            thread_instructions: run.thread_instructions,
            printed: run.printed,
            races: run.witness.map_or_else(Races::default, |witness| witness.found),
        }
    }
}

impl Run<'_> {
    /// Sets up parameters and module variables.
    fn prepare(&mut self) -> Result<(), Fault> {
        let kernel = &self.program.codes[0];
        let bad = |reason: String| Err(Fault::BadLaunch(reason));
        if self.launch.parameters.len() != kernel.inputs.len() {
            return bad(format!(
                "{} parameters, where the kernel has {}",
                self.launch.parameters.len(),
                kernel.inputs.len()
            ));
        }
        self.parameters =
            vec![0; kernel.inputs.iter().map(|slot| (slot.offset + slot.bytes) as usize).max().unwrap_or(0)];
        for (number, (bytes, slot)) in self.launch.parameters.iter().zip(&kernel.inputs).enumerate() {
            if bytes.len() != slot.bytes as usize {
                return bad(format!("parameter {number} has {} bytes, not {}", slot.bytes, bytes.len()));
            }
            self.parameters[slot.offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        let threads: u64 = self.launch.block.iter().map(|extent| u64::from(*extent)).product();
        if threads == 0 || threads > MAX_THREADS {
            return bad(format!("{threads} threads in a block"));
        }
        let blocks = self.launch.grid.iter().try_fold(1u64, |product, extent| product.checked_mul(u64::from(*extent)));
        if blocks.is_none_or(|blocks| blocks == 0 || blocks > u64::from(u32::MAX)) {
            return bad("no blocks, or too many".to_string());
        }
        if self.program.shared_bytes.saturating_add(u64::from(self.launch.dynamic_shared)) > 1 << 20 {
            return bad("more shared memory than any hardware has".to_string());
        }
        self.link()
    }

    fn link(&mut self) -> Result<(), Fault> {
        let links = &self.program.links;
        let mut is_new = Vec::new();
        for link in links {
            let variable = &link.variable;
            let before = self.memory.regions().count();
            let id = self.memory.region(Origin::Variable(Arc::clone(&variable.name)), Some(variable.bytes));
            is_new.push((id, self.memory.regions().count() > before));
            self.links.push(id.address());
        }
        for (link, (id, is_new)) in links.iter().zip(is_new) {
            let variable = &link.variable;
            if !is_new {
                continue;
            }
            if !variable.initial.is_empty() || self.memory.is_zero(variable) {
                self.memory.set_zero(id);
            }
            let size = variable.ty.bytes() as usize;
            self.memory.fill(id, 0, variable.initial.bytes())?;
            for (index, value) in variable.initial.others() {
                let bits = self.initial(value);
                let bytes = bits.to_le_bytes();
                let offset = i64::try_from(index.saturating_mul(size as u64)).unwrap_or(i64::MAX);
                self.memory.fill(id, offset, &bytes[..size.min(8)])?;
            }
        }
        Ok(())
    }

    fn initial(&self, value: &InitialValue) -> u64 {
        match value {
            InitialValue::Integer(value) => value.cast_unsigned(),
            InitialValue::Single(bits) => u64::from(*bits),
            InitialValue::Double(bits) => *bits,
            InitialValue::Address { name, offset, .. } => {
                let function = self.program.code_by_name.get(name).map(|index| code_address(*index));
                let links = self.program.links.iter().zip(&self.links);
                let variable =
                    || links.clone().find(|(link, _)| link.variable.name == *name).map(|(_, address)| *address);
                function.or_else(variable).unwrap_or(0).wrapping_add(offset.cast_unsigned())
            }
            InitialValue::Unknown => 0,
        }
    }

    /// Runs blocks one after another; a block that waits for others lets the next one start.
    fn grid(&mut self) -> Result<(), End> {
        let [x, y, z] = self.launch.grid.map(u64::from);
        let mut waiting: std::collections::VecDeque<BlockState> = std::collections::VecDeque::new();
        let all = (x * y * z).min(self.launch.limits.blocks);
        let mut next = 0u64;
        loop {
            // New blocks start first, as hardware runs many at a time; the limit bounds memory.
            let mut block = if next < all && waiting.len() < 64 {
                let number = if self.launch.limits.reversed { all - 1 - next } else { next };
                let id = [number % x, number / x % y, number / x / y].map(|extent| extent as u32);
                next += 1;
                self.new_block(id)
            } else {
                match waiting.pop_front() {
                    Some(block) => block,
                    None => return Ok(()),
                }
            };
            match self.block(&mut block) {
                Ok(true) => {}
                Ok(false) => waiting.push_back(block),
                Err(stop) => return Err(self.end(stop)),
            }
        }
    }

    fn end(&self, stop: Stop) -> End {
        match stop {
            Stop::Fault(fault, lane) => End::Fault(fault, Some(self.place(lane))),
            Stop::NotSupported(what) => End::NotSupported(what),
            Stop::Limit => End::Limit,
            Stop::Deadlock(what) => End::Deadlock(what),
        }
    }

    pub fn place(&self, lane: u32) -> Place {
        let function = Arc::clone(&self.program.codes[self.at.code as usize].name);
        Place { function, instruction: self.at.site, block: self.at.block, thread: self.at.warp * 32 + lane }
    }

    /// Counts an event for some lanes.
    pub fn note(&mut self, event: fn(&mut Events) -> &mut Event, lanes: u32) {
        if lanes == 0 {
            return;
        }
        let is_first = event(&mut self.events).first.is_none();
        let place = is_first.then(|| self.place(lanes.trailing_zeros()));
        let event = event(&mut self.events);
        event.count += u64::from(lanes.count_ones());
        event.first = event.first.take().or(place);
    }

    /// Now, for a thread, if races are noted.
    #[inline]
    pub fn moment(&self, block: &BlockState, warp: usize, lane: usize) -> Option<Moment> {
        self.witness.as_ref()?;
        let thread = (warp * 32 + lane) as u32;
        let (barriers, collectives) = (block.barriers, block.warps[warp].collectives);
        Some(Moment { block: self.number_of(block.id), thread, barriers, collectives })
    }

    fn number_of(&self, block: [u32; 3]) -> u32 {
        block.iter().zip(self.launch.grid).rev().fold(0, |number, (at, extent)| number * extent + at)
    }

    /// Limit on the local memory of a thread.
    pub fn local_limit(&self) -> u64 {
        self.launch.limits.local_bytes.min(object_bits(1))
    }

    fn new_block(&mut self, id: [u32; 3]) -> BlockState {
        let program = self.program;
        let threads: u32 = self.launch.block.iter().product();
        let count = threads.div_ceil(32);
        let code = &program.codes[0];
        let warps = (0..count).map(|index| {
            let mut warp = Warp::new(index, self.launch.block, self.launch.limits.unset);
            let frame = warp.add_frame(code, 0, NOWHERE, NOWHERE, FIRST_LOCAL, 0);
            if let Some(frame) = warp.frames[frame as usize].as_deref_mut() {
                for lane in frame.parameters.chunks_mut(code.parameter_bytes.max(1) as usize) {
                    lane[..self.parameters.len()].copy_from_slice(&self.parameters);
                }
            }
            let start = Split { mask: warp.exists, pc: 0, frame, meeting: NOWHERE, state: State::Ready };
            match self.launch.limits.serial {
                // The last split goes first.
                true => {
                    let lane = |turn: u32| if self.launch.limits.reversed { turn } else { 31 - turn };
                    let lanes = (0..32).map(|turn| 1 << lane(turn)).filter(|mask| warp.exists & mask != 0);
                    warp.splits.extend(lanes.map(|mask| Split { mask, ..start }));
                }
                false => warp.splits.push(start),
            }
            warp
        });
        let warps: Vec<Warp> = warps.collect();
        let first_warp = self.warps.len();
        if self.launch.limits.count_accesses {
            let number = self.number_of(id);
            let none: Vec<Vec<u32>> = program.codes.iter().map(|code| vec![0; code.blocks]).collect();
            self.warps.extend(warps.iter().map(|_| (number, none.clone())));
        }
        let bytes = (program.dynamic_shared + u64::from(self.launch.dynamic_shared)).max(program.shared_bytes) as usize;
        BlockState {
            id,
            shared: vec![self.launch.limits.unwritten; bytes],
            shared_written: vec![0; bytes.div_ceil(64)],
            warps,
            gates: vec![Gate::default(); 16],
            barriers: 0,
            first_warp,
        }
    }

    /// Runs a block until all its threads have exited; false if it waits for other blocks.
    fn block(&mut self, block: &mut BlockState) -> Result<bool, Stop> {
        let mut long_rounds = 0;
        while long_rounds < 4 {
            let mut has_moved = false;
            let mut is_short = true;
            let count = block.warps.len();
            for turn in 0..count {
                let warp = if self.launch.limits.reversed { count - 1 - turn } else { turn };
                if block.warps[warp].alive() == 0 {
                    continue;
                }
                let before = self.warp_instructions;
                self.turn = self.launch.limits.turn.max(1);
                self.warp(block, warp)?;
                has_moved |= self.warp_instructions != before;
                is_short &= self.turn > 0;
            }
            if block.warps.iter().all(|warp| warp.alive() == 0) {
                return Ok(true);
            }
            has_moved |= open_gates(self.program, block);
            if !has_moved && !block.warps.iter_mut().any(Warp::force) {
                return Err(Stop::Deadlock(describe(block)));
            }
            // If all threads only wait at barriers, other blocks cannot release them, so the block is not suspended.
            long_rounds += u32::from(!is_short);
        }
        Ok(false)
    }
}

fn describe(block: &BlockState) -> String {
    let (mut barriers, mut collectives) = (0, 0);
    for split in block.warps.iter().flat_map(|warp| &warp.splits) {
        match split.state {
            State::Barrier(_) => barriers += split.mask.count_ones(),
            State::Collective => collectives += split.mask.count_ones(),
            State::Ready => {}
        }
    }
    format!(
        "{barriers} threads wait at a barrier, {collectives} at a collective instruction, for others that do not come"
    )
}

/// Opens barriers at which all threads have arrived; PTX ISA "bar, barrier".
fn open_gates(program: &Program, block: &mut BlockState) -> bool {
    let mut has_opened = false;
    for number in 0..block.gates.len() {
        let gate = &block.gates[number];
        if !gate.is_used {
            continue;
        }
        // A warp whose live lanes have all arrived counts as a full warp.
        let come = |(arrived, warp): (&u32, &Warp)| {
            if warp.alive() & !arrived == 0 && (*arrived != 0 || gate.count.is_none()) {
                32
            } else {
                arrived.count_ones()
            }
        };
        let arrived: u32 = gate.arrived.iter().zip(&block.warps).map(come).sum();
        let expected = gate.count.unwrap_or(block.warps.len() as u32 * 32);
        if arrived >= expected {
            let gate = std::mem::take(&mut block.gates[number]);
            has_opened = true;
            block.barriers += 1;
            release(program, block, number as u32, &gate);
        }
    }
    has_opened
}

fn release(program: &Program, block: &mut BlockState, number: u32, gate: &Gate) {
    let votes: u32 = gate.votes.iter().map(|votes| votes.count_ones()).sum();
    let come: u32 = gate.arrived.iter().map(|arrived| arrived.count_ones()).sum();
    for warp in &mut block.warps {
        for index in 0..warp.splits.len() {
            let Split { mask, frame, pc, state, .. } = warp.splits[index];
            if state != State::Barrier(number) {
                continue;
            }
            warp.splits[index].state = State::Ready;
            warp.splits[index].pc = pc + 1;
            let Some(frame) = warp.frames[frame as usize].as_deref_mut() else { continue };
            if let Op::Barrier(barrier) = &program.codes[frame.code as usize].insts[pc as usize].op
                && let Some(output) = barrier.output
            {
                give_result(frame, barrier.kind, output as usize, mask, (votes, come));
            }
        }
    }
}

fn give_result(frame: &mut Frame, kind: BarrierKind, output: usize, mask: u32, (votes, come): (u32, u32)) {
    let holds = match kind {
        BarrierKind::And => votes == come,
        BarrierKind::Or => votes > 0,
        _ => {
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                frame.registers[output][lane] = u64::from(votes);
            }
            return;
        }
    };
    let predicate = &mut frame.predicates[output];
    *predicate = *predicate & !mask | if holds { mask } else { 0 };
}
