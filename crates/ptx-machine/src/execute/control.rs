//! Instructions after which a split does not go on as it was: branches, calls, returns, exits, barriers.

use super::lanes_of;
use crate::machine::{BlockState, Gate, Run, Stop};
use crate::op::*;
use crate::outcome::Fault;
use crate::warp::{Frame, Returned, Split, State, Warp};

impl<'a> Run<'a> {
    /// Handles what needs the frame back in the warp: the split diverges, calls, returns, exits or waits.
    pub(super) fn change(
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
