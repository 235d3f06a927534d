//! Executes instructions for all lanes of a split.

use ptx_syntax::{Space, SpecialRegister};

use crate::decode::Program;
use crate::float;
use crate::integer;
use crate::machine::{At, BlockState, Gate, Run, SPLIT_TURN, Stop};
use crate::memory::{LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, WINDOW_SIZE, unmarked};
use crate::op::*;
use crate::outcome::Fault;
use crate::soft::Format;
use crate::warp::{Frame, Returned, Split, State, Warp};

/// How a split continues after an instruction.
pub(crate) enum Next {
    /// With the next instruction.
    On,
    /// With the instruction at an index.
    Jump(u32),
    /// Not at all: the split diverged, waits, returned or exited.
    Changed,
}

#[inline]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// The state that source operands are read from.
pub(crate) struct Reader<'a> {
    pub frame: &'a Frame,
    pub warp_index: u32,
    pub tid: &'a [Lanes; 3],
    pub links: &'a [u64],
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub id: [u32; 3],
    pub shared: (u64, u64),
    pub clock: u64,
}

impl Reader<'_> {
    /// The values of a source. A source other than a register is computed into `space`.
    #[inline]
    pub fn lanes<'s>(&'s self, source: Src, space: &'s mut Lanes) -> &'s Lanes {
        match source {
            Src::Reg(register) => return &self.frame.registers[register as usize],
            Src::Imm(value) => *space = [value; 32],
            Src::Local(offset) => *space = [LOCAL_WINDOW.wrapping_add(self.frame.local_base).wrapping_add(offset); 32],
            Src::Link(link, offset) => *space = [self.links[link as usize].wrapping_add(offset); 32],
            Src::Special(special) => *space = self.special(special),
        }
        space
    }

    pub fn copy(&self, source: Src) -> Lanes {
        let mut space = [0; 32];
        *self.lanes(source, &mut space)
    }

    pub fn predicate(&self, source: PredicateSrc) -> u32 {
        match source {
            PredicateSrc::Reg { register, negated } => {
                let value = self.frame.predicates[register as usize];
                if negated { !value } else { value }
            }
            PredicateSrc::Constant(value) => {
                if value {
                    u32::MAX
                } else {
                    0
                }
            }
        }
    }

    pub fn addresses(&self, addr: Addr) -> Lanes {
        let mut lanes = self.copy(addr.base);
        for address in &mut lanes {
            *address = address.wrapping_add(addr.offset);
            if addr.narrow {
                *address &= 0xffff_ffff;
            }
        }
        lanes
    }

    /// The values of a special register, PTX ISA 10 "Special Registers". The machine has one multiprocessor and no
    /// clusters.
    fn special(&self, special: SpecialRegister) -> Lanes {
        use SpecialRegister::*;
        let each = |function: fn(u64) -> u64| std::array::from_fn(|lane| function(lane as u64));
        let all = |value: u32| [u64::from(value); 32];
        match special {
            TidX => self.tid[0],
            TidY => self.tid[1],
            TidZ => self.tid[2],
            NtidX => all(self.block[0]),
            NtidY => all(self.block[1]),
            NtidZ => all(self.block[2]),
            CtaidX | ClusteridX => all(self.id[0]),
            CtaidY | ClusteridY => all(self.id[1]),
            CtaidZ | ClusteridZ => all(self.id[2]),
            NctaidX | NclusteridX => all(self.grid[0]),
            NctaidY | NclusteridY => all(self.grid[1]),
            NctaidZ | NclusteridZ => all(self.grid[2]),
            Laneid => each(|lane| lane),
            Warpid => all(self.warp_index),
            Nwarpid => all(64),
            WarpSize => all(32),
            Nsmid | ClusterNctaidX | ClusterNctaidY | ClusterNctaidZ | ClusterNctarank => all(1),
            LanemaskEq => each(|lane| 1 << lane),
            LanemaskLe => each(|lane| (2 << lane) - 1),
            LanemaskLt => each(|lane| (1 << lane) - 1),
            LanemaskGe => each(|lane| 0xffff_ffff & !((1 << lane) - 1)),
            LanemaskGt => each(|lane| 0xffff_ffff & !((2 << lane) - 1)),
            Clock | GlobaltimerLo => [self.clock & 0xffff_ffff; 32],
            ClockHi | GlobaltimerHi => [self.clock >> 32; 32],
            Clock64 | Globaltimer => [self.clock; 32],
            DynamicSmemSize => [self.shared.0; 32],
            TotalSmemSize | AggrSmemSize => [self.shared.1; 32],
            _ => [0; 32],
        }
    }
}

fn is_local(value: u64) -> bool {
    value.wrapping_sub(LOCAL_WINDOW) < WINDOW_SIZE
}

/// Whether one of the values seems to be an address of local memory.
#[inline]
fn has_local(values: &Lanes) -> bool {
    values.iter().fold(false, |found, value| found | is_local(*value))
}

#[inline]
fn merge(into: &mut Lanes, from: &Lanes, mask: u32) {
    if mask == u32::MAX {
        *into = *from;
        return;
    }
    for lane in lanes_of(mask) {
        into[lane] = from[lane];
    }
}

fn merge_bits(into: &mut u32, from: u32, mask: u32) {
    *into = *into & !mask | from & mask;
}

impl<'a> Run<'a> {
    pub(crate) fn reader<'r>(&'r self, block: &'r BlockState, warp: &'r Warp, frame: &'r Frame) -> Reader<'r> {
        let dynamic = u64::from(self.launch.dynamic_shared);
        Reader {
            frame,
            warp_index: warp.index,
            tid: &warp.tid,
            links: &self.links,
            grid: self.launch.grid,
            block: self.launch.block,
            id: block.id,
            shared: (dynamic, self.program.shared_bytes + dynamic),
            clock: self.warp_instructions,
        }
    }

    /// Runs a warp until all its lanes wait for other warps or have exited, or its time slice is over.
    pub(crate) fn warp(&mut self, block: &mut BlockState, warp: usize) -> Result<(), Stop> {
        let mut since_progress = 0;
        while self.turn > 0 && block.warps[warp].alive() != 0 {
            let splits = &mut block.warps[warp].splits;
            let Some(index) = splits.iter().rposition(|split| split.state == State::Ready) else {
                if self.resolve_collectives(block, warp)? {
                    continue;
                }
                // Lanes that a collective instruction needs may be waiting at a reconvergence point.
                let waits = block.warps[warp].splits.iter().any(|split| split.state == State::Collective);
                if waits && block.warps[warp].force() {
                    continue;
                }
                return Ok(());
            };
            let split = splits.remove(index);
            let has_time = self.split(block, warp, split)?;
            if !has_time {
                // The split may spin on other lanes of its warp: the others run first. After some turns, lanes are
                // released that wait for this split at a reconvergence point.
                since_progress += 1;
                let splits = &mut block.warps[warp].splits;
                if let Some(split) = splits.pop() {
                    splits.insert(0, split);
                }
                if since_progress % 8 == 0 && std::mem::take(&mut self.polls) {
                    block.warps[warp].force();
                }
            }
        }
        Ok(())
    }

    /// Runs a split until its state changes or its time slice is over; in that case it becomes the last of the warp's
    /// splits.
    fn split(&mut self, block: &mut BlockState, warp_index: usize, mut split: Split) -> Result<bool, Stop> {
        let program: &'a Program = self.program;
        let end = self.warp_instructions + SPLIT_TURN.min(self.turn);
        // The frame is taken out of the warp while it runs, so that both can be borrowed.
        let Some(mut frame) = block.warps[warp_index].frames[split.frame as usize].take() else { return Ok(true) };
        let code = &program.codes[frame.code as usize];
        self.at = At { code: frame.code, site: 0, block: block.id, warp: warp_index as u32 };
        let start = self.warp_instructions;
        let result = loop {
            let Some(inst) = code.insts.get(split.pc as usize) else { break Ok(true) };
            if let Op::Block { block: number, is_join } = inst.op {
                let meeting = block.warps[warp_index].meetings.get(split.meeting as usize);
                if is_join && meeting.is_some_and(|meeting| meeting.pc == split.pc && meeting.frame == split.frame) {
                    block.warps[warp_index].frames[split.frame as usize] = Some(frame);
                    block.warps[warp_index].arrive(split.meeting, split.mask);
                    self.turn = self.turn.saturating_sub(self.warp_instructions - start);
                    return Ok(true);
                }
                let count = &mut self.blocks[frame.code as usize][number as usize];
                count.warps += 1;
                count.threads += u64::from(split.mask.count_ones());
                split.pc += 1;
                continue;
            }
            if self.warp_instructions >= end {
                break Ok(false);
            }
            self.warp_instructions += 1;
            let active = match inst.guard {
                None => split.mask,
                Some((register, negated)) => {
                    let value = frame.predicates[register as usize];
                    split.mask & if negated { !value } else { value }
                }
            };
            self.thread_instructions += u64::from(active.count_ones());
            self.at.site = inst.site;
            if active == 0 {
                split.pc += 1;
                continue;
            }
            match self.step(block, warp_index, &mut frame, &mut split, &inst.op, active) {
                Ok(Next::On) => split.pc += 1,
                Ok(Next::Jump(pc)) => split.pc = pc,
                Ok(Next::Changed) => {
                    let used = self.warp_instructions - start;
                    self.turn = self.turn.saturating_sub(used);
                    return self.change(block, warp_index, frame, split, &inst.op, active).map(|()| true);
                }
                Err(stop) => break Err(stop),
            }
        };
        self.turn = self.turn.saturating_sub(self.warp_instructions - start);
        let warp = &mut block.warps[warp_index];
        warp.frames[split.frame as usize] = Some(frame);
        warp.splits.push(split);
        let has_time = result?;
        if self.warp_instructions >= self.launch.limits.warp_instructions {
            return Err(Stop::Limit);
        }
        Ok(has_time)
    }

    /// Handles what needs the frame back in the warp: the split diverges, calls, returns, exits or waits.
    fn change(
        &mut self,
        block: &mut BlockState,
        warp_index: usize,
        frame: Box<Frame>,
        split: Split,
        op: &'a Op,
        active: u32,
    ) -> Result<(), Stop> {
        if self.warp_instructions >= self.launch.limits.warp_instructions {
            return Err(Stop::Limit);
        }
        let number = split.frame as usize;
        match op {
            Op::Branch { target, meet } => {
                block.warps[warp_index].frames[number] = Some(frame);
                let code = &self.program.codes[self.at.code as usize];
                let end = code.insts.len() as u32 - 1;
                let ways =
                    [(split.mask & !active, split.pc + 1), (active, if *target == NOWHERE { end } else { *target })];
                part(&mut block.warps[warp_index], split, &ways, *meet);
            }
            Op::BranchTable { index, table, meet } => {
                let index = self.reader(block, &block.warps[warp_index], &frame).copy(*index);
                block.warps[warp_index].frames[number] = Some(frame);
                let end = self.program.codes[self.at.code as usize].insts.len() as u32 - 1;
                let mut ways: Vec<(u32, u32)> = vec![(split.mask & !active, split.pc + 1)];
                for lane in lanes_of(active) {
                    // PTX ISA "brx.idx": an index beyond the table is undefined; the last target is taken.
                    let entry = table.get(index[lane] as usize).or(table.last()).copied().unwrap_or(NOWHERE);
                    let pc = if entry == NOWHERE { end } else { entry };
                    match ways.iter_mut().find(|(mask, way)| *way == pc && *mask != 0) {
                        Some(way) => way.0 |= 1 << lane,
                        None => ways.push((1 << lane, pc)),
                    }
                }
                part(&mut block.warps[warp_index], split, &ways, *meet);
            }
            Op::Call(call) => self.call(block, warp_index, frame, split, call, active)?,
            Op::Return => {
                let is_kernel = frame.parent == NOWHERE;
                block.warps[warp_index].frames[number] = Some(frame);
                let rest = Split { mask: split.mask & !active, pc: split.pc + 1, ..split };
                if rest.mask != 0 {
                    block.warps[warp_index].splits.push(rest);
                }
                let (meeting, mut returned) = block.warps[warp_index].leave(split.meeting, active, is_kernel);
                if is_kernel {
                    block.warps[warp_index].exited |= active;
                } else if meeting != NOWHERE {
                    returned.extend(block.warps[warp_index].arrive(meeting, active));
                }
                for returned in returned {
                    self.give_back(&mut block.warps[warp_index], returned);
                }
            }
            Op::Exit => {
                let warp = &mut block.warps[warp_index];
                warp.frames[number] = Some(frame);
                warp.exited |= active;
                let (_, returned) = warp.leave(split.meeting, active, true);
                let rest = Split { mask: split.mask & !active, pc: split.pc + 1, ..split };
                if rest.mask != 0 {
                    warp.splits.push(rest);
                }
                for returned in returned {
                    self.give_back(&mut block.warps[warp_index], returned);
                }
            }
            Op::Barrier(barrier) => self.barrier(block, warp_index, frame, split, barrier, active)?,
            _ => {
                let warp = &mut block.warps[warp_index];
                warp.frames[number] = Some(frame);
                // Not all lanes are at the collective instruction. Those that skip it continue and wait at the next
                // one.
                let rest = Split { mask: split.mask & !active, pc: split.pc + 1, ..split };
                warp.splits.push(Split { mask: active, state: State::Collective, ..split });
                if rest.mask != 0 {
                    warp.splits.push(rest);
                }
            }
        }
        Ok(())
    }

    /// Copies return values to the caller.
    fn give_back(&mut self, warp: &mut Warp, returned: Returned) {
        let Returned { frame, mask } = returned;
        let code = &self.program.codes[frame.code as usize];
        let Some(caller) = warp.frames.get_mut(frame.parent as usize).and_then(Option::as_deref_mut) else { return };
        let caller_code = &self.program.codes[caller.code as usize];
        let Some(Op::Call(call)) = caller_code.insts.get(frame.call_pc as usize).map(|inst| &inst.op) else { return };
        for (from, to) in code.outputs.iter().zip(&call.outputs) {
            let bytes = from.bytes.min(to.bytes) as usize;
            for lane in lanes_of(mask) {
                let source = lane * code.parameter_bytes as usize + from.offset as usize;
                let target = lane * caller_code.parameter_bytes as usize + to.offset as usize;
                caller.parameters[target..target + bytes].copy_from_slice(&frame.parameters[source..source + bytes]);
            }
        }
    }

    fn barrier(
        &mut self,
        block: &mut BlockState,
        warp_index: usize,
        frame: Box<Frame>,
        split: Split,
        barrier: &Barrier,
        active: u32,
    ) -> Result<(), Stop> {
        let reader = self.reader(block, &block.warps[warp_index], &frame);
        let lane = active.trailing_zeros() as usize;
        let id = reader.copy(barrier.id)[lane];
        let count = barrier.count.map(|count| reader.copy(count)[lane] as u32);
        let votes = reader.predicate(barrier.predicate) & active;
        block.warps[warp_index].frames[split.frame as usize] = Some(frame);
        let warps = block.warps.len();
        let Some(gate) = block.gates.get_mut(id as usize) else {
            return Err(Stop::Fault(Fault::BadLaunch(format!("barrier {id}")), lane as u32));
        };
        if !gate.is_used {
            *gate = Gate { arrived: vec![0; warps], votes: vec![0; warps], count, is_used: true };
        }
        gate.arrived[warp_index] |= active;
        gate.votes[warp_index] |= votes;
        let warp = &mut block.warps[warp_index];
        let waits = barrier.kind != BarrierKind::Arrive;
        let rest_mask = if waits { split.mask & !active } else { split.mask };
        if rest_mask != 0 {
            warp.splits.push(Split { mask: rest_mask, pc: split.pc + 1, ..split });
        }
        if waits {
            warp.splits.push(Split { mask: active, state: State::Barrier(id as u32), ..split });
        }
        Ok(())
    }

    fn step(
        &mut self,
        block: &mut BlockState,
        warp_index: usize,
        frame: &mut Frame,
        split: &mut Split,
        op: &'a Op,
        active: u32,
    ) -> Result<Next, Stop> {
        match op {
            Op::Compute { compute, check, d, a, b, c } => {
                let reader = self.reader(block, &block.warps[warp_index], frame);
                let (mut space_a, mut space_b, mut space_c) = ([0; 32], [0; 32], [0; 32]);
                let mut out = [0; 32];
                let a = reader.lanes(*a, &mut space_a);
                let mut found = 0;
                match compute {
                    Compute::One(function) => function(&mut out, a),
                    Compute::Two(function) => {
                        let b = reader.lanes(*b, &mut space_b);
                        found = checked(*check, b, active);
                        function(&mut out, a, b);
                    }
                    Compute::Three(function) => {
                        function(&mut out, a, reader.lanes(*b, &mut space_b), reader.lanes(*c, &mut space_c));
                    }
                    Compute::Extend { from, signed, to } => extend(&mut out, a, *from, *signed, *to),
                    other => {
                        let (b, c) = (reader.lanes(*b, &mut space_b), reader.lanes(*c, &mut space_c));
                        for lane in lanes_of(active) {
                            out[lane] = other.lane(a[lane], b[lane], c[lane]);
                        }
                    }
                }
                merge(&mut frame.registers[*d as usize], &out, active);
                if found != 0 {
                    match check {
                        Check::Division(_) => self.note(|events| &mut events.division_by_zero, found),
                        _ => self.note(|events| &mut events.wide_shift, found),
                    }
                }
            }
            Op::Compare { compare, a, b, combine, p, q } => {
                let (yes, no) = self.compare(block, warp_index, frame, (compare, *a, *b), *combine);
                if let Some(p) = p {
                    merge_bits(&mut frame.predicates[*p as usize], yes, active);
                }
                if let Some(q) = q {
                    merge_bits(&mut frame.predicates[*q as usize], no, active);
                }
            }
            Op::Set { compare, a, b, combine, d, one } => {
                self.set(block, warp_index, frame, (compare, *a, *b), (*combine, *d, *one), active);
            }
            Op::Select { d, a, b, p } => {
                let reader = self.reader(block, &block.warps[warp_index], frame);
                let (mut space_a, mut space_b, mut out) = ([0; 32], [0; 32], [0; 32]);
                let (a, b) = (reader.lanes(*a, &mut space_a), reader.lanes(*b, &mut space_b));
                let p = reader.predicate(*p);
                for lane in 0..32 {
                    out[lane] = if p >> lane & 1 == 1 { a[lane] } else { b[lane] };
                }
                merge(&mut frame.registers[*d as usize], &out, active);
            }
            Op::Predicate { logic, negate, d, a, b } => {
                let reader = self.reader(block, &block.warps[warp_index], frame);
                let (a, b) = (reader.predicate(*a), reader.predicate(*b));
                let value = logic.map_or(a, |logic| logic.apply(a, b));
                let value = if *negate { !value } else { value };
                merge_bits(&mut frame.predicates[*d as usize], value, active);
            }
            Op::MoveAll { d, a } => {
                let reader = self.reader(block, &block.warps[warp_index], frame);
                if let ([d], [a]) = (&d[..], &a[..]) {
                    let mut space = [0; 32];
                    let value = *reader.lanes(*a, &mut space);
                    merge(&mut frame.registers[*d as usize], &value, active);
                } else {
                    let values: Vec<Lanes> = a.iter().map(|a| reader.copy(*a)).collect();
                    for (d, value) in d.iter().zip(&values) {
                        merge(&mut frame.registers[*d as usize], value, active);
                    }
                }
            }
            Op::Branch { target, .. } => {
                if active != split.mask {
                    return Ok(Next::Changed);
                }
                let end = self.program.codes[frame.code as usize].insts.len() as u32 - 1;
                return Ok(Next::Jump(if *target == NOWHERE { end } else { *target }));
            }
            Op::Load { access, d } => self.load(block, warp_index, frame, access, d, active)?,
            Op::Store { access, a } => self.store(block, warp_index, frame, access, a, active)?,
            Op::Collective(collective) => {
                if !self.collective(block, warp_index, frame, collective, active)? {
                    return Ok(Next::Changed);
                }
            }
            Op::BranchTable { .. } | Op::Call(_) | Op::Return | Op::Exit | Op::Barrier(_) => return Ok(Next::Changed),
            Op::Nothing | Op::Block { .. } => {}
            Op::NotSupported(what) => return Err(Stop::NotSupported(what.to_string())),
            Op::Trap => return Err(Stop::Fault(Fault::Trap, active.trailing_zeros())),
            other => return self.seldom(block, warp_index, frame, split, other, active),
        }
        Ok(Next::On)
    }

    /// Executes rare instructions, which are kept out of the main loop.
    fn seldom(
        &mut self,
        block: &mut BlockState,
        warp_index: usize,
        frame: &mut Frame,
        split: &Split,
        op: &Op,
        active: u32,
    ) -> Result<Next, Stop> {
        let reader = self.reader(block, &block.warps[warp_index], frame);
        match op {
            Op::BitInsert { bits, d, s } => {
                let [a, b, c, e] = s.map(|source| reader.copy(source));
                let insert = match bits {
                    64 => integer::bfi::<u64>,
                    _ => integer::bfi::<u32>,
                };
                let out = std::array::from_fn(|lane| insert(a[lane], b[lane], c[lane], e[lane]));
                merge(&mut frame.registers[*d as usize], &out, active);
            }
            Op::Lop3 { table, d, s, predicate } => {
                let [a, b, c] = s.map(|source| reader.copy(source));
                let out = std::array::from_fn(|lane| integer::lop3(a[lane], b[lane], c[lane], *table));
                let nonzero = lanes_of(u32::MAX).fold(0, |mask, lane| mask | u32::from(out[lane] != 0) << lane);
                let bits = predicate.map(|(logic, source, out)| (out, logic.apply(nonzero, reader.predicate(source))));
                merge(&mut frame.registers[*d as usize], &out, active);
                if let Some((register, bits)) = bits {
                    merge_bits(&mut frame.predicates[register as usize], bits, active);
                }
            }
            Op::Carry { kind, bits, signed, reads, writes, d, a, b, c } => {
                let (a, b, c) = (reader.copy(*a), reader.copy(*b), reader.copy(*c));
                let carry = frame.carry;
                let mut out = [0; 32];
                let mut flags = 0;
                for lane in lanes_of(active) {
                    let flag = u128::from(*reads && carry >> lane & 1 == 1);
                    let (value, next) = with_carry(*kind, (*bits, *signed), (a[lane], b[lane], c[lane]), flag);
                    out[lane] = value;
                    flags |= u32::from(next) << lane;
                }
                merge(&mut frame.registers[*d as usize], &out, active);
                if *writes {
                    merge_bits(&mut frame.carry, flags, active);
                }
            }
            Op::Test { format, property, d, a } => {
                let a = reader.copy(*a);
                let bits = lanes_of(active)
                    .fold(0, |mask, lane| mask | u32::from(float::test(*format, *property, a[lane])) << lane);
                merge_bits(&mut frame.predicates[*d as usize], bits, active);
            }
            Op::Pack { d, parts, bits } => {
                let mut out = [0; 32];
                for (index, part) in (0..).zip(parts) {
                    let part = reader.copy(*part);
                    let mask = (1u64 << bits) - 1;
                    for lane in 0..32 {
                        out[lane] |= (part[lane] & mask) << (index * bits);
                    }
                }
                merge(&mut frame.registers[*d as usize], &out, active);
            }
            Op::Unpack { parts, a, bits } => {
                let a = reader.copy(*a);
                for (index, part) in (0..).zip(parts) {
                    let out = std::array::from_fn(|lane| a[lane] >> (index * bits) & ((1u64 << bits) - 1));
                    if let Some(part) = part {
                        merge(&mut frame.registers[*part as usize], &out, active);
                    }
                }
            }
            Op::IsSpace { space, d, a } => {
                let a = reader.copy(*a);
                let inside = |address: u64, window: u64| address.wrapping_sub(window) < WINDOW_SIZE;
                let is_in = |address: u64| match space {
                    Space::Shared | Space::SharedCluster => inside(address, SHARED_WINDOW),
                    Space::Local => inside(address, LOCAL_WINDOW),
                    Space::Param => inside(address, PARAMETER_WINDOW),
                    Space::Const => self.is_constant(address),
                    _ => address >= PARAMETER_WINDOW + WINDOW_SIZE && !self.is_constant(address),
                };
                let bits = lanes_of(active).fold(0, |mask, lane| mask | u32::from(is_in(a[lane])) << lane);
                merge_bits(&mut frame.predicates[*d as usize], bits, active);
            }
            Op::Alloca { d, a, align } => {
                let sizes = reader.copy(*a);
                let limit = self.local_limit();
                for lane in lanes_of(active) {
                    let start = frame.local_top[lane].next_multiple_of(*align);
                    let end = start.saturating_add(sizes[lane]);
                    if end > limit {
                        return Err(Stop::Fault(Fault::StackOverflow, lane as u32));
                    }
                    frame.registers[*d as usize][lane] = LOCAL_WINDOW + start;
                    frame.allocations.push((lane as u8, start, end));
                    frame.local_top[lane] = end.next_multiple_of(16);
                }
            }
            Op::StackSave { d } => {
                let tops = frame.local_top;
                merge(&mut frame.registers[*d as usize], &tops, active);
            }
            Op::StackRestore { a } => {
                let tops = reader.copy(*a);
                for lane in lanes_of(active) {
                    frame.local_top[lane] = tops[lane].clamp(frame.local_base, frame.local_top[lane]);
                    frame.allocations.retain(|(owner, start, _)| *owner as usize != lane || *start < tops[lane]);
                }
            }
            Op::ActiveMask { d } => {
                let out = [u64::from(split.mask); 32];
                merge(&mut frame.registers[*d as usize], &out, active);
            }
            Op::Atom { access, op, d, b, c } => {
                self.atom(block, warp_index, frame, (access, *op), (*d, *b, *c), active)?
            }
            Op::CopyAsync { to, from, bytes, source_bytes, ignore } => {
                self.copy_async(block, warp_index, frame, (*to, *from, *bytes), (*source_bytes, *ignore), active)?;
            }
            _ => {}
        }
        Ok(Next::On)
    }

    fn is_constant(&self, address: u64) -> bool {
        let links = self.program.links.iter().zip(&self.links);
        let constants = links.filter(|(link, _)| link.variable.space == Space::Const);
        constants.into_iter().any(|(link, start)| address.wrapping_sub(*start) < link.variable.bytes)
    }

    /// Writes a comparison and its complement, both combined with a predicate.
    fn compare(
        &self,
        block: &BlockState,
        warp_index: usize,
        frame: &Frame,
        (compare, a, b): (&Compare, Src, Src),
        combine: Option<(Logic, PredicateSrc)>,
    ) -> (u32, u32) {
        let reader = self.reader(block, &block.warps[warp_index], frame);
        let (mut space_a, mut space_b) = ([0; 32], [0; 32]);
        let (a, b) = (reader.lanes(a, &mut space_a), reader.lanes(b, &mut space_b));
        let bits = match compare {
            Compare::Wide(function) if has_local(a) && has_local(b) => {
                // The end of an object may be formed like the start of the next one: only their positions are equal.
                let both = |lane: usize| is_local(a[lane]) && is_local(b[lane]);
                let position = |values: &Lanes| -> Lanes {
                    std::array::from_fn(|lane| if both(lane) { unmarked(values[lane]) } else { values[lane] })
                };
                function(&position(a), &position(b))
            }
            Compare::Wide(function) => function(a, b),
            Compare::Float { format, ftz, kind, unordered, .. } => (0..32).fold(0, |mask, lane| {
                mask | u32::from(float::compare(*format, *ftz, *kind, *unordered, a[lane], b[lane])) << lane
            }),
        };
        match combine {
            None => (bits, !bits),
            Some((logic, source)) => {
                let other = reader.predicate(source);
                (logic.apply(bits, other), logic.apply(!bits, other))
            }
        }
    }

    fn set(
        &mut self,
        block: &BlockState,
        warp_index: usize,
        frame: &mut Frame,
        (compare, a, b): (&Compare, Src, Src),
        (combine, d, one): (Option<(Logic, PredicateSrc)>, u32, u64),
        active: u32,
    ) {
        let out = if let Compare::Float { format, ftz, kind, unordered, packed: true } = compare {
            let reader = self.reader(block, &block.warps[warp_index], frame);
            let (a, b) = (reader.copy(a), reader.copy(b));
            let half = |value: u64, shift: u32| value >> shift & 0xffff;
            std::array::from_fn(|lane| {
                let holds = |shift| {
                    float::compare(*format, *ftz, *kind, *unordered, half(a[lane], shift), half(b[lane], shift))
                };
                let part = |shift: u32| if holds(shift) { one & 0xffff << shift } else { 0 };
                part(0) | part(16)
            })
        } else {
            let (bits, _) = self.compare(block, warp_index, frame, (compare, a, b), combine);
            std::array::from_fn(|lane| if bits >> lane & 1 == 1 { one } else { 0 })
        };
        merge(&mut frame.registers[d as usize], &out, active);
    }
}

impl Compute {
    /// Computes one lane of a per-lane operation.
    #[inline]
    fn lane(&self, a: u64, b: u64, c: u64) -> u64 {
        match self {
            Self::Float(function, mode) if mode.packed => float::packed(*function, mode, a, b, c),
            Self::Float(function, mode) => {
                let mask = low(mode.format);
                function(mode, a & mask, b & mask, c & mask)
            }
            Self::Convert(conversion) => conversion.apply(a, b),
            Self::Permute(mode) => integer::prmt(a, b, c, *mode),
            Self::Dot4 { a_signed, b_signed } => integer::dp4a(a, b, c, *a_signed, *b_signed),
            Self::Dot2 { signed, upper } => integer::dp2a(a, b, c, *signed, *upper),
            _ => a,
        }
    }
}

fn low(format: Format) -> u64 {
    u64::MAX >> (64 - format.bits())
}

fn extend(out: &mut Lanes, a: &Lanes, from: u32, signed: bool, to: u32) {
    let shift = 64 - from;
    let mask = u64::MAX >> (64 - to.clamp(1, 64));
    for (out, a) in out.iter_mut().zip(a) {
        let high = a << shift;
        let value = if signed { (high.cast_signed() >> shift).cast_unsigned() } else { high >> shift };
        *out = value & mask;
    }
}

fn checked(check: Check, b: &Lanes, active: u32) -> u32 {
    let found =
        |is_bad: &dyn Fn(u64) -> bool| lanes_of(active).fold(0, |mask, lane| mask | u32::from(is_bad(b[lane])) << lane);
    match check {
        Check::None => 0,
        Check::Division(bits) => found(&|divisor| divisor << (64 - bits) == 0),
        Check::Shift(bits) => found(&|amount| amount & 0xffff_ffff >= u64::from(bits)),
    }
}

/// PTX ISA 9.7.2 "Extended-Precision Integer Arithmetic Instructions".
fn with_carry(kind: CarryKind, (bits, signed): (u32, bool), (a, b, c): (u64, u64, u64), flag: u128) -> (u64, bool) {
    let mask = u64::MAX >> (64 - bits);
    let (a, b) = (a & mask, b & mask);
    let sum = match kind {
        CarryKind::Add => u128::from(a) + u128::from(b) + flag,
        CarryKind::Sub => {
            // The flag is a borrow.
            let difference = u128::from(a).wrapping_sub(u128::from(b)).wrapping_sub(flag);
            return (difference as u64 & mask, difference >> 127 == 1);
        }
        CarryKind::MadLo => u128::from(a.wrapping_mul(b) & mask) + u128::from(c & mask) + flag,
        CarryKind::MadHi => {
            let high = match (bits, signed) {
                (32, false) => integer::mul_hi::<u32>(a, b),
                (32, true) => integer::mul_hi::<i32>(a, b),
                (_, false) => integer::mul_hi::<u64>(a, b),
                (_, true) => integer::mul_hi::<i64>(a, b),
            };
            u128::from(high) + u128::from(c & mask) + flag
        }
    };
    (sum as u64 & mask, sum >> bits & 1 == 1)
}

/// Splits diverging lanes. The split with the lowest lane goes first, whichever way the compiler turned the branch.
fn part(warp: &mut Warp, split: Split, ways: &[(u32, u32)], meet: u32) {
    let mut ways: Vec<(u32, u32)> = ways.iter().copied().filter(|(mask, _)| *mask != 0).collect();
    let outer = warp.meetings.get(split.meeting as usize).copied();
    let is_same =
        outer.is_some_and(|meeting| meeting.pc == meet && meeting.frame == split.frame && meeting.returns == NOWHERE);
    let meeting = if ways.len() < 2 || meet == NOWHERE || is_same {
        split.meeting
    } else {
        warp.add_meeting(meet, split.frame, split.mask, split.meeting, NOWHERE)
    };
    ways.sort_by_key(|(mask, _)| std::cmp::Reverse(mask.trailing_zeros()));
    warp.splits.extend(ways.into_iter().map(|(mask, pc)| Split { mask, pc, meeting, ..split }));
}
