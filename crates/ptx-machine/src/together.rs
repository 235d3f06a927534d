//! Warp-level instructions. PTX ISA 9.7.9.6 "shfl.sync", 9.7.13 "vote.sync", "match.sync", "redux.sync", "elect.sync".
//!
//! A split waits at such an instruction until all lanes of its mask have arrived, on any path. Exited lanes are not
//! waited for.

use ptx_syntax::Space;

use crate::execute::lanes_of;
use crate::machine::{At, BlockState, Run, Stop};
use crate::op::*;
use crate::outcome::Fault;
use crate::warp::{Frame, Split, State};

/// Inputs and results of the lanes.
pub(crate) struct Exchange {
    pub inputs: Vec<Lanes>,
    pub predicate: u32,
    pub addresses: Lanes,
    pub outputs: Vec<Lanes>,
    pub predicate_out: u32,
}

impl Run<'_> {
    /// Whether the instruction could be executed now; otherwise the lanes wait.
    pub(crate) fn collective(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        collective: &Collective,
        active: u32,
    ) -> Result<bool, Stop> {
        let alive = block.warps[warp].alive();
        let groups = match collective.mask {
            None => vec![(active, alive)],
            Some(mask) => {
                let masks = self.reader(block, &block.warps[warp], frame).copy(mask);
                groups(&masks, active)
            }
        };
        if groups.iter().any(|(lanes, members)| members & alive & !lanes != 0) {
            return Ok(false);
        }
        for (lanes, members) in groups {
            self.note(|events| &mut events.bad_collective, lanes & !members);
            let mut exchange = self.gather(block, warp, frame, collective, lanes, None);
            self.exchange(block, warp, frame, collective, &mut exchange, lanes)?;
            scatter(frame, collective, &exchange, lanes);
        }
        Ok(true)
    }

    /// Adds the inputs of some lanes to those gathered so far.
    fn gather(
        &self,
        block: &BlockState,
        warp: usize,
        frame: &Frame,
        collective: &Collective,
        lanes: u32,
        others: Option<Exchange>,
    ) -> Exchange {
        let reader = self.reader(block, &block.warps[warp], frame);
        let empty = || Exchange {
            inputs: vec![[0; 32]; collective.inputs.len()],
            predicate: 0,
            addresses: [0; 32],
            outputs: vec![[0; 32]; collective.outputs.len()],
            predicate_out: 0,
        };
        let mut exchange = others.unwrap_or_else(empty);
        for (input, source) in exchange.inputs.iter_mut().zip(&collective.inputs) {
            let values = reader.copy(*source);
            for lane in lanes_of(lanes) {
                input[lane] = values[lane];
            }
        }
        if let Some(predicate) = collective.predicate {
            exchange.predicate |= reader.predicate(predicate) & lanes;
        }
        if let Some(addr) = collective.addr {
            let addresses = reader.addresses(addr);
            for lane in lanes_of(lanes) {
                exchange.addresses[lane] = addresses[lane];
            }
        }
        exchange
    }

    /// Executes a collective instruction for splits whose lanes are all at one of the same kind with the same mask,
    /// possibly at different places.
    pub(crate) fn resolve_collectives(&mut self, block: &mut BlockState, warp: usize) -> Result<bool, Stop> {
        let program = self.program;
        let alive = block.warps[warp].alive();
        // By split: its lanes, and the lanes that they name.
        let mut waiting: Vec<(u32, u32, Split)> = Vec::new();
        for split in block.warps[warp].splits.iter().filter(|split| split.state == State::Collective) {
            let Some(frame) = block.warps[warp].frames[split.frame as usize].as_deref() else { continue };
            let Op::Collective(collective) = &program.codes[frame.code as usize].insts[split.pc as usize].op else {
                continue;
            };
            match collective.mask {
                None => waiting.push((split.mask, alive, *split)),
                Some(mask) => {
                    let masks = self.reader(block, &block.warps[warp], frame).copy(mask);
                    waiting.extend(
                        groups(&masks, split.mask).into_iter().map(|(lanes, members)| (lanes, members, *split)),
                    );
                }
            }
        }
        let collective_of = |block: &BlockState, split: &Split| {
            let frame = block.warps[warp].frames[split.frame as usize].as_deref();
            frame.and_then(|frame| match &program.codes[frame.code as usize].insts[split.pc as usize].op {
                Op::Collective(collective) => Some(&**collective),
                _ => None,
            })
        };
        for index in 0..waiting.len() {
            let (_, members, first) = waiting[index];
            let Some(collective) = collective_of(block, &first) else { continue };
            let is_same = |(_, others, split): &&(u32, u32, Split)| {
                let kind = collective_of(block, split).map(|other| other.kind);
                *others == members && kind == Some(collective.kind)
            };
            let group: Vec<(u32, u32, Split)> = waiting.iter().filter(is_same).copied().collect();
            let union = group.iter().fold(0, |union, (lanes, ..)| union | lanes);
            if members & alive & !union == 0 {
                self.meet(block, warp, collective, &group, union)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn meet(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        collective: &Collective,
        group: &[(u32, u32, Split)],
        union: u32,
    ) -> Result<(), Stop> {
        let program = self.program;
        let mut exchange = None;
        let code_of = |frame: &Frame| &program.codes[frame.code as usize];
        for (lanes, _, split) in group {
            let Some(frame) = block.warps[warp].frames[split.frame as usize].as_deref() else { continue };
            if let Op::Collective(own) = &code_of(frame).insts[split.pc as usize].op {
                exchange = Some(self.gather(block, warp, frame, own, *lanes, exchange));
            }
        }
        let (Some(mut exchange), Some((_, _, first))) = (exchange, group.first()) else { return Ok(()) };
        let Some(mut frame) = block.warps[warp].frames[first.frame as usize].take() else { return Ok(()) };
        let site = code_of(&frame).insts[first.pc as usize].site;
        self.at = At { code: frame.code, site, block: block.id, warp: warp as u32 };
        let result = self.exchange(block, warp, &mut frame, collective, &mut exchange, union);
        block.warps[warp].frames[first.frame as usize] = Some(frame);
        result?;
        let warp = &mut block.warps[warp];
        for (lanes, _, split) in group {
            if let Some(frame) = warp.frames[split.frame as usize].as_deref_mut()
                && let Op::Collective(own) = &program.codes[frame.code as usize].insts[split.pc as usize].op
            {
                scatter(frame, own, &exchange, *lanes);
            }
            // Splits that were at the same place continue as one.
            for waiting in warp.splits.iter_mut().filter(|waiting| *waiting == split || same_place(waiting, split)) {
                waiting.mask &= !lanes;
            }
            let next = Split { mask: *lanes, pc: split.pc + 1, state: State::Ready, ..*split };
            match warp.splits.iter_mut().find(|other| same_place(other, &next)) {
                Some(other) => other.mask |= lanes,
                None => warp.splits.push(next),
            }
        }
        warp.splits.retain(|split| split.mask != 0);
        Ok(())
    }

    /// Computes the result of each lane.
    fn exchange(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        collective: &Collective,
        exchange: &mut Exchange,
        lanes: u32,
    ) -> Result<(), Stop> {
        block.warps[warp].collectives += 1;
        let stop = |fault: Fault| Stop::Fault(fault, lanes.trailing_zeros());
        match collective.kind {
            CollectiveKind::Shuffle(kind) => {
                let outside = shuffle(kind, exchange, lanes);
                self.note(|events| &mut events.bad_collective, outside);
            }
            CollectiveKind::Vote(kind) => vote(kind, exchange, lanes),
            CollectiveKind::Match { bits, all } => find_equal(bits, all, exchange, lanes),
            CollectiveKind::Reduce { op, signed } => reduce(op, signed, exchange, lanes),
            CollectiveKind::Elect => {
                let leader = lanes.trailing_zeros();
                exchange.outputs[0] = [u64::from(leader); 32];
                exchange.predicate_out = 1 << (leader & 31);
            }
            CollectiveKind::WarpBarrier => {}
            CollectiveKind::Matrix(matrix) => matrix.multiply(exchange),
            CollectiveKind::LoadMatrix { count, transposed } => {
                self.load_matrices(block, warp, frame, exchange, (count, transposed)).map_err(stop)?;
            }
            CollectiveKind::StoreMatrix { count, transposed } => {
                self.store_matrices(block, warp, frame, exchange, (count, transposed)).map_err(stop)?;
            }
            CollectiveKind::LoadFragment(fragment) => {
                self.load_fragment(block, warp, frame, exchange, fragment).map_err(stop)?;
            }
            CollectiveKind::StoreFragment(fragment) => {
                self.store_fragment(block, warp, frame, exchange, fragment).map_err(stop)?;
            }
        }
        Ok(())
    }

    /// PTX ISA "ldmatrix": each lane provides the address of a row of eight `f16`, and gets two elements of each
    /// matrix.
    fn load_matrices(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &Frame,
        exchange: &mut Exchange,
        (count, transposed): (u32, bool),
    ) -> Result<(), Fault> {
        for matrix in 0..count as usize {
            for lane in 0..32usize {
                let mut word = 0;
                for element in 0..2 {
                    let (row, column) = matrix_element(lane, element, transposed);
                    let address = exchange.addresses[matrix * 8 + row];
                    if !address.is_multiple_of(16) {
                        return Err(Fault::Misaligned { address });
                    }
                    let address = shared_address(address).wrapping_add(2 * column as u64);
                    let what = (Space::Generic, address, 2, ptx_syntax::Type::B16);
                    word |= self.read_for_all(block, (warp, lane), frame, what)? << (16 * element);
                }
                exchange.outputs[matrix][lane] = word;
            }
        }
        Ok(())
    }

    fn store_matrices(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        exchange: &Exchange,
        (count, transposed): (u32, bool),
    ) -> Result<(), Fault> {
        for matrix in 0..count as usize {
            for lane in 0..32usize {
                for element in 0..2 {
                    let (row, column) = matrix_element(lane, element, transposed);
                    let address = exchange.addresses[matrix * 8 + row];
                    if !address.is_multiple_of(16) {
                        return Err(Fault::Misaligned { address });
                    }
                    let value = exchange.inputs[matrix][lane] >> (16 * element) & 0xffff;
                    let what = (Space::Generic, shared_address(address).wrapping_add(2 * column as u64), 2, value);
                    self.write_for_all(block, (warp, lane), frame, what)?;
                }
            }
        }
        Ok(())
    }

    fn load_fragment(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &Frame,
        exchange: &mut Exchange,
        fragment: Fragment,
    ) -> Result<(), Fault> {
        let layout = fragment.layout();
        for lane in 0..32usize {
            let (base, stride) = (exchange.addresses[lane], exchange.inputs[0][lane]);
            for element in 0..layout.per_lane {
                let address = base.wrapping_add(fragment.offset(layout.place(lane, element), stride));
                let what = (fragment.space, address, fragment.ty.bytes(), fragment.ty);
                let value = self.read_for_all(block, (warp, lane), frame, what)?;
                layout.put(&mut exchange.outputs, lane, element, value);
            }
        }
        Ok(())
    }

    fn store_fragment(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        exchange: &Exchange,
        fragment: Fragment,
    ) -> Result<(), Fault> {
        let layout = fragment.layout();
        for lane in 0..32usize {
            let (base, stride) = (exchange.addresses[lane], exchange.inputs[0][lane]);
            for element in 0..layout.per_lane {
                let address = base.wrapping_add(fragment.offset(layout.place(lane, element), stride));
                let value = layout.get(&exchange.inputs[1..], lane, element);
                self.write_for_all(block, (warp, lane), frame, (fragment.space, address, fragment.ty.bytes(), value))?;
            }
        }
        Ok(())
    }
}

fn same_place(a: &Split, b: &Split) -> bool {
    (a.pc, a.frame, a.meeting, a.state) == (b.pc, b.frame, b.meeting, b.state)
}

/// Addresses below the windows are offsets in shared memory.
fn shared_address(address: u64) -> u64 {
    if address < crate::memory::WINDOW_SIZE { address + crate::memory::SHARED_WINDOW } else { address }
}

/// Row and column of a lane's element in an 8×8 matrix.
fn matrix_element(lane: usize, element: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, lane % 4 * 2 + element);
    if transposed { (column, row) } else { (row, column) }
}

/// Groups lanes by the mask that they name.
fn groups(masks: &Lanes, active: u32) -> Vec<(u32, u32)> {
    let mut groups: Vec<(u32, u32)> = Vec::new();
    for lane in lanes_of(active) {
        let members = masks[lane] as u32;
        match groups.iter_mut().find(|(_, other)| *other == members) {
            Some(group) => group.0 |= 1 << lane,
            None => groups.push((1 << lane, members)),
        }
    }
    groups
}

fn scatter(frame: &mut Frame, collective: &Collective, exchange: &Exchange, lanes: u32) {
    for (output, values) in collective.outputs.iter().zip(&exchange.outputs) {
        if let Some(register) = output {
            for lane in lanes_of(lanes) {
                frame.registers[*register as usize][lane] = values[lane];
            }
        }
    }
    if let Some(register) = collective.predicate_out {
        let predicate = &mut frame.predicates[register as usize];
        *predicate = *predicate & !lanes | exchange.predicate_out & lanes;
    }
}

/// PTX ISA "shfl.sync". Returns the lanes whose source lane does not participate.
fn shuffle(kind: ShuffleKind, exchange: &mut Exchange, lanes: u32) -> u32 {
    let mut outside = 0;
    for lane in lanes_of(lanes) {
        let (b, c) = (exchange.inputs[1][lane] as u32, exchange.inputs[2][lane] as u32);
        let (amount, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
        let own = lane as u32;
        let last = (own & segment) | (clamp & !segment);
        let first = own & segment;
        let (source, is_inside) = match kind {
            // The subtraction may wrap below zero, which is out of range too.
            ShuffleKind::Up => (own.wrapping_sub(amount), own.wrapping_sub(amount).cast_signed() >= last.cast_signed()),
            ShuffleKind::Down => (own + amount, own + amount <= last),
            ShuffleKind::Butterfly => (own ^ amount, own ^ amount <= last),
            ShuffleKind::Index => {
                let source = first | (amount & !segment);
                (source, source <= last)
            }
        };
        let source = if is_inside { source & 31 } else { own };
        if lanes >> source & 1 == 0 {
            outside |= 1 << lane;
        }
        exchange.outputs[0][lane] = exchange.inputs[0][source as usize];
        exchange.predicate_out |= u32::from(is_inside) << lane;
    }
    outside
}

fn vote(kind: VoteKind, exchange: &mut Exchange, lanes: u32) {
    let votes = exchange.predicate & lanes;
    let all = |holds: bool| if holds { u32::MAX } else { 0 };
    match kind {
        VoteKind::All => exchange.predicate_out = all(votes == lanes),
        VoteKind::Any => exchange.predicate_out = all(votes != 0),
        VoteKind::Uniform => exchange.predicate_out = all(votes == lanes || votes == 0),
        VoteKind::Ballot => exchange.outputs[0] = [u64::from(votes); 32],
    }
}

fn find_equal(bits: u32, all: bool, exchange: &mut Exchange, lanes: u32) {
    let mask = u64::MAX >> (64 - bits);
    let values = exchange.inputs[0].map(|value| value & mask);
    for lane in lanes_of(lanes) {
        let equal = lanes_of(lanes)
            .filter(|other| values[*other] == values[lane])
            .fold(0, |found, other| found | 1u32 << other);
        if !all {
            exchange.outputs[0][lane] = u64::from(equal);
        } else if equal == lanes {
            exchange.outputs[0][lane] = u64::from(lanes);
            exchange.predicate_out |= 1 << lane;
        }
    }
}

fn reduce(op: AtomOp, signed: bool, exchange: &mut Exchange, lanes: u32) {
    let values = lanes_of(lanes).map(|lane| exchange.inputs[0][lane] as u32);
    let result = values.reduce(|a, b| match op {
        AtomOp::Add => a.wrapping_add(b),
        AtomOp::And => a & b,
        AtomOp::Or => a | b,
        AtomOp::Xor => a ^ b,
        AtomOp::Min if signed => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
        AtomOp::Max if signed => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
        AtomOp::Min => a.min(b),
        _ => a.max(b),
    });
    exchange.outputs[0] = [u64::from(result.unwrap_or(0)); 32];
}
