//! Executes instructions for all lanes of a split.

mod compare;
mod control;
mod reader;
mod seldom;

use crate::decode::Program;
use crate::float;
use crate::integer;
use crate::machine::{At, BlockState, Run, SPLIT_TURN, Stop};
use crate::op::*;
use crate::outcome::Fault;
use crate::soft::Format;
use crate::warp::{Frame, Split, State};

/// What a page of memory costs that is touched for the first time, in warp instructions: it is written in full.
const PAGE_COST: u64 = 4;

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
        let turn = if self.launch.limits.serial { self.turn } else { SPLIT_TURN.min(self.turn) };
        let end = self.warp_instructions + turn;
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
                if let Some((_, own)) = self.warps.get_mut(block.first_warp + warp_index) {
                    own[frame.code as usize][number as usize] += 1;
                }
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
        if self.warp_instructions + PAGE_COST * self.memory.pages() >= self.launch.limits.warp_instructions {
            return Err(Stop::Limit);
        }
        Ok(has_time)
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
