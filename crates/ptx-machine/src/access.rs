//! Loads, stores and atomics, in all spaces. PTX ISA 5.1 "State Spaces", 9.7.9 and 9.7.13.

use ptx_syntax::{Space, Type};

use crate::execute::lanes_of;
use crate::float::{self, Mode};
use crate::integer;
use crate::machine::{BlockState, Run, Stop};
use crate::memory::{self, Class, LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, WINDOW_SIZE, parted};
use crate::op::*;
use crate::outcome::Fault;
use crate::races::Byte;
use crate::soft::F32;
use crate::warp::{Frame, Local, Warp};

/// Irregularities found during an access, as lane masks.
#[derive(Clone, Copy, Default)]
struct Found {
    local_outside: u32,
    object_outside: u32,
    local_unwritten: u32,
    shared_unwritten: u32,
    variable_outside: u32,
}

/// A resolved address.
#[derive(Clone, Copy)]
enum MemoryPlace {
    Global(u64),
    Shared(u64),
    Local(u64),
    /// In the parameter area of the frame: a parameter of the function, or of a call in it.
    Parameter(u64),
    /// A kernel parameter, through a generic address.
    Kernel(u64),
}

fn place(space: Space, address: u64) -> MemoryPlace {
    match space {
        Space::Shared => MemoryPlace::Shared(address),
        // Addresses of 32 bits have lost the window.
        Space::Local if address < WINDOW_SIZE => MemoryPlace::Local(address),
        Space::Local => MemoryPlace::Local(address.wrapping_sub(LOCAL_WINDOW)),
        Space::Param => MemoryPlace::Parameter(address),
        Space::Global | Space::Const => MemoryPlace::Global(address),
        _ => match address {
            _ if address.wrapping_sub(SHARED_WINDOW) < WINDOW_SIZE => MemoryPlace::Shared(address - SHARED_WINDOW),
            _ if address.wrapping_sub(LOCAL_WINDOW) < WINDOW_SIZE => MemoryPlace::Local(address - LOCAL_WINDOW),
            _ if address.wrapping_sub(PARAMETER_WINDOW) < WINDOW_SIZE => {
                MemoryPlace::Kernel(address - PARAMETER_WINDOW)
            }
            _ => MemoryPlace::Global(address),
        },
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn is_marked(marks: &[u64], at: usize, count: usize) -> bool {
    (at..at + count).all(|at| marks[at / 64] >> (at % 64) & 1 == 1)
}

fn mark(marks: &mut [u64], at: usize, count: usize) {
    for at in at..at + count {
        marks[at / 64] |= 1 << (at % 64);
    }
}

/// Whether an access of local memory ends within what a thread may have.
fn bounded(end: u64, limit: u64) -> Result<(), Fault> {
    if end > limit { Err(Fault::OutsideWindow { address: LOCAL_WINDOW.wrapping_add(end) }) } else { Ok(()) }
}

impl Local {
    /// Grows the memory up to an address.
    fn grow(&mut self, end: u64, limit: u64, unwritten: u8) -> Result<(), Fault> {
        bounded(end, limit)?;
        let end = (end as usize).next_multiple_of(256);
        if self.bytes.len() < end {
            self.bytes.resize(end, unwritten);
            self.written.resize(end.div_ceil(64), 0);
        }
        Ok(())
    }

    /// The value at an address, and whether all of it was written. Memory that nothing wrote need not be there: an index that
    /// leaves an array by far would make all lanes fill theirs.
    fn read(&self, at: u64, count: u32, (limit, unwritten): (u64, u8)) -> Result<(u64, bool), Fault> {
        bounded(at.saturating_add(u64::from(count)), limit)?;
        let (at, count) = (at as usize, count as usize);
        if let Some(bytes) = self.bytes.get(at..at + count) {
            return Ok((little_endian(bytes), is_marked(&self.written, at, count)));
        }
        let byte = |at: usize| u64::from(self.bytes.get(at).copied().unwrap_or(unwritten));
        Ok(((at..at + count).rev().fold(0, |value, at| value << 8 | byte(at)), false))
    }

    /// Marks a range as unwritten: the variables of a new call do not keep the values of the last call.
    pub fn forget(&mut self, from: u64, to: u64, unwritten: u8) {
        for at in from..to.min(self.bytes.len() as u64) {
            self.bytes[at as usize] = unwritten;
            self.written[at as usize / 64] &= !(1 << (at % 64));
        }
    }
}

impl Run<'_> {
    /// Reads the value at an address, for one lane.
    #[inline]
    fn read(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &Frame,
        (place, bytes, ty, class): (MemoryPlace, u32, Type, Class),
        lane: usize,
        found: &mut Found,
    ) -> Result<u64, Fault> {
        match place {
            MemoryPlace::Global(address) => {
                let (value, outside) = self.memory.read(address, bytes, memory::Access { bytes, ty, class })?;
                found.variable_outside |= u32::from(outside) << lane;
                Ok(value)
            }
            MemoryPlace::Shared(address) => {
                let at = usize::try_from(address).unwrap_or(usize::MAX);
                let data = at.checked_add(bytes as usize).and_then(|end| block.shared.get(at..end));
                let Some(data) = data else {
                    return Err(Fault::OutsideWindow { address: SHARED_WINDOW.wrapping_add(address) });
                };
                if !is_marked(&block.shared_written, at, bytes as usize) {
                    found.shared_unwritten |= 1 << lane;
                }
                Ok(little_endian(data))
            }
            MemoryPlace::Local(address) => {
                let (object, address) = parted(address);
                let end = address.saturating_add(u64::from(bytes));
                self.check_local(&block.warps[warp], frame, lane, (object, address, end), found);
                let local = &block.warps[warp].local[lane];
                let (value, is_written) =
                    local.read(address, bytes, (self.local_limit(), self.launch.limits.unwritten))?;
                if !is_written {
                    found.local_unwritten |= 1 << lane;
                }
                Ok(value)
            }
            MemoryPlace::Parameter(address) => {
                let outside = Fault::OutsideWindow { address: PARAMETER_WINDOW.wrapping_add(address) };
                let at = usize::try_from(address).unwrap_or(usize::MAX);
                let data = self.parameter_data(frame, lane);
                let end = at.checked_add(bytes as usize);
                end.and_then(|end| data.get(at..end)).map(little_endian).ok_or(outside)
            }
            MemoryPlace::Kernel(address) => {
                let at = usize::try_from(address).unwrap_or(usize::MAX);
                let data = at.checked_add(bytes as usize).and_then(|end| self.parameters.get(at..end));
                data.map(little_endian).ok_or(Fault::OutsideWindow { address: PARAMETER_WINDOW.wrapping_add(address) })
            }
        }
    }

    /// The parameter area of one lane.
    fn parameter_data<'f>(&'f self, frame: &'f Frame, lane: usize) -> &'f [u8] {
        let bytes = self.program.codes[frame.code as usize].parameter_bytes as usize;
        &frame.parameters[lane * bytes..(lane + 1) * bytes]
    }

    #[inline]
    fn write(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        (place, bytes, class, value): (MemoryPlace, u32, Class, u64),
        lane: usize,
        found: &mut Found,
    ) -> Result<(), Fault> {
        let count = bytes as usize;
        match place {
            MemoryPlace::Global(address) => {
                let outside = self.memory.write(address, bytes, class, value)?;
                found.variable_outside |= u32::from(outside) << lane;
            }
            MemoryPlace::Shared(address) => {
                let at = usize::try_from(address).unwrap_or(usize::MAX);
                let data = at.checked_add(count).and_then(|end| block.shared.get_mut(at..end));
                let Some(data) = data else {
                    return Err(Fault::OutsideWindow { address: SHARED_WINDOW.wrapping_add(address) });
                };
                data.copy_from_slice(&value.to_le_bytes()[..count]);
                mark(&mut block.shared_written, at, count);
            }
            MemoryPlace::Local(address) => {
                let (object, address) = parted(address);
                let end = address.saturating_add(u64::from(bytes));
                self.check_local(&block.warps[warp], frame, lane, (object, address, end), found);
                let local = &mut block.warps[warp].local[lane];
                local.grow(end, self.local_limit(), self.launch.limits.unwritten)?;
                let at = address as usize;
                local.bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
                mark(&mut local.written, at, count);
            }
            MemoryPlace::Parameter(address) => {
                let at = usize::try_from(address).unwrap_or(usize::MAX);
                let size = self.program.codes[frame.code as usize].parameter_bytes as usize;
                let data = &mut frame.parameters[lane * size..(lane + 1) * size];
                let end = at.checked_add(count);
                let Some(data) = end.and_then(|end| data.get_mut(at..end)) else {
                    return Err(Fault::OutsideWindow { address: PARAMETER_WINDOW.wrapping_add(address) });
                };
                data.copy_from_slice(&value.to_le_bytes()[..count]);
            }
            // Kernel parameters are read-only.
            MemoryPlace::Kernel(address) => {
                return Err(Fault::OutsideWindow { address: PARAMETER_WINDOW.wrapping_add(address) });
            }
        }
        Ok(())
    }

    /// Notes a local access outside the variables and `alloca` blocks of all active calls, or outside the object that
    /// its address was made for.
    fn check_local(
        &self,
        warp: &Warp,
        frame: &Frame,
        lane: usize,
        (object, start, end): (usize, u64, u64),
        found: &mut Found,
    ) {
        let mut next = Some(frame);
        while let Some(frame) = next {
            let code = &self.program.codes[frame.code as usize];
            let base = frame.local_base;
            let is_inside = |(first, last): &(u64, u64)| base + first <= start && end <= base + last;
            let is_allocated =
                |(owner, first, last): &(u8, u64, u64)| *owner as usize == lane && *first <= start && end <= *last;
            if code.local_objects.iter().any(is_inside) || frame.allocations.iter().any(is_allocated) {
                let own = object.checked_sub(1).and_then(|index| code.objects.get(index));
                if own.is_some_and(|own| !is_inside(own)) {
                    found.object_outside |= 1 << lane;
                }
                return;
            }
            next = warp.frames.get(frame.parent as usize).and_then(Option::as_deref);
        }
        found.local_outside |= 1 << lane;
    }

    /// Notes who reads the bytes of a place, or writes a value there, if races are noted.
    #[inline]
    fn witness(
        &mut self,
        block: &BlockState,
        (warp, lane): (usize, usize),
        (place, bytes): (&MemoryPlace, u32),
        written: Option<u64>,
    ) {
        let Some(now) = self.moment(block, warp, lane) else { return };
        let Some(witness) = &mut self.witness else { return };
        let byte = |at: u64| match place {
            MemoryPlace::Global(address) => Some(Byte::Global(address.wrapping_add(at))),
            MemoryPlace::Shared(address) => Some(Byte::Shared(now.block, address.wrapping_add(at))),
            _ => None,
        };
        for at in 0..u64::from(bytes) {
            match (byte(at), written) {
                (Some(byte), Some(value)) => witness.writes(byte, value.to_le_bytes()[at as usize], now),
                (Some(byte), None) => witness.reads(byte, now),
                (None, _) => return,
            }
        }
    }

    fn note_found(&mut self, found: Found) {
        self.note(|events| &mut events.local_out_of_bounds, found.local_outside);
        self.note(|events| &mut events.object_out_of_bounds, found.object_outside);
        self.note(|events| &mut events.uninitialized_local, found.local_unwritten);
        self.note(|events| &mut events.uninitialized_shared, found.shared_unwritten);
        self.note(|events| &mut events.variable_out_of_bounds, found.variable_outside);
    }

    pub(crate) fn load(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        access: &MemoryOperand,
        d: &[Option<u32>],
        active: u32,
    ) -> Result<(), Stop> {
        let addresses = self.reader(block, &block.warps[warp], frame).addresses(access.addr);
        self.polls |= access.polls;
        self.count(access, &addresses, d.len() as u32, active);
        let mut found = Found::default();
        let size = access.bytes * d.len() as u32;
        for lane in lanes_of(active) {
            let stop = |fault| Stop::Fault(fault, lane as u32);
            let address = addresses[lane];
            if !address.is_multiple_of(u64::from(size)) {
                return Err(stop(Fault::Misaligned { address }));
            }
            for (index, d) in (0..).zip(d) {
                let place = place(access.space, address.wrapping_add(index * u64::from(access.bytes)));
                let what = (place, access.bytes, access.ty, access.class);
                let value = self.read(block, warp, frame, what, lane, &mut found).map_err(stop)?;
                self.witness(block, (warp, lane), (&place, access.bytes), None);
                if let Some(d) = d {
                    let value = match access.extend {
                        Some((from, to)) => {
                            let shift = 64 - from;
                            ((value << shift).cast_signed() >> shift).cast_unsigned() & (u64::MAX >> (64 - to))
                        }
                        None => value,
                    };
                    frame.registers[*d as usize][lane] = value;
                }
            }
        }
        self.note_found(found);
        Ok(())
    }

    pub(crate) fn store(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        access: &MemoryOperand,
        a: &[Src],
        active: u32,
    ) -> Result<(), Stop> {
        let reader = self.reader(block, &block.warps[warp], frame);
        let addresses = reader.addresses(access.addr);
        let mut values = [[0; 32]; 8];
        for (value, source) in values.iter_mut().zip(a) {
            *value = reader.copy(*source);
        }
        self.count(access, &addresses, a.len() as u32, active);
        let mut found = Found::default();
        let size = access.bytes * a.len() as u32;
        for turn in 0..32 {
            let lane = if self.launch.limits.reversed { 31 - turn } else { turn };
            if active >> lane & 1 == 0 {
                continue;
            }
            let stop = |fault| Stop::Fault(fault, lane as u32);
            let address = addresses[lane];
            if !address.is_multiple_of(u64::from(size)) {
                return Err(stop(Fault::Misaligned { address }));
            }
            for (index, value) in (0..).zip(&values[..a.len()]) {
                let place = place(access.space, address.wrapping_add(index * u64::from(access.bytes)));
                if let (MemoryPlace::Global(address), true) = (&place, self.memory.notes_writers()) {
                    let [x, y, z] = block.id;
                    let writer = (x, y, z, (warp * 32 + lane) as u32);
                    self.memory.note_writer(*address, access.bytes, value[lane], writer);
                }
                self.witness(block, (warp, lane), (&place, access.bytes), Some(value[lane]));
                let what = (place, access.bytes, access.class, value[lane]);
                self.write(block, warp, frame, what, lane, &mut found).map_err(stop)?;
            }
        }
        self.note_found(found);
        Ok(())
    }

    pub(crate) fn atom(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        (access, op): (&MemoryOperand, AtomOp),
        (d, b, c): (Option<u32>, Src, Src),
        active: u32,
    ) -> Result<(), Stop> {
        let reader = self.reader(block, &block.warps[warp], frame);
        let (addresses, b, c) = (reader.addresses(access.addr), reader.copy(b), reader.copy(c));
        self.polls = true;
        self.count(access, &addresses, 1, active);
        let mut found = Found::default();
        for lane in lanes_of(active) {
            let stop = |fault| Stop::Fault(fault, lane as u32);
            let address = addresses[lane];
            if !address.is_multiple_of(u64::from(access.bytes)) {
                return Err(stop(Fault::Misaligned { address }));
            }
            let place = place(access.space, address);
            let what = (place, access.bytes, access.ty, access.class);
            let old = self.read(block, warp, frame, what, lane, &mut found).map_err(stop)?;
            // PTX ISA "atom": `.f32` addition flushes subnormal numbers in global memory, not in shared memory.
            let flushes = matches!(place, MemoryPlace::Global(_));
            let new = combine(op, access.ty, flushes, old, (b[lane], c[lane]));
            self.write(block, warp, frame, (place, access.bytes, access.class, new), lane, &mut found).map_err(stop)?;
            if let Some(d) = d {
                frame.registers[d as usize][lane] = old;
            }
        }
        self.note_found(found);
        Ok(())
    }

    pub(crate) fn copy_async(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        (to, from, bytes): (Addr, Addr, u32),
        (source_bytes, ignore): (Option<Src>, Option<PredicateSrc>),
        active: u32,
    ) -> Result<(), Stop> {
        let reader = self.reader(block, &block.warps[warp], frame);
        let (to, from) = (reader.addresses(to), reader.addresses(from));
        let counts = source_bytes.map_or([u64::from(bytes); 32], |source| reader.copy(source));
        let ignored = ignore.map_or(0, |source| reader.predicate(source));
        let mut found = Found::default();
        for lane in lanes_of(active) {
            let stop = |fault| Stop::Fault(fault, lane as u32);
            for address in [to[lane], from[lane]] {
                if !address.is_multiple_of(u64::from(bytes)) {
                    return Err(stop(Fault::Misaligned { address }));
                }
            }
            let count = if ignored >> lane & 1 == 1 { 0 } else { counts[lane].min(u64::from(bytes)) };
            // Copied data are mostly words; the rest is zero.
            for at in (0..u64::from(bytes)).step_by(4) {
                let kept = count.saturating_sub(at).min(4);
                let mut value = 0;
                if kept > 0 {
                    let place = MemoryPlace::Global(from[lane].wrapping_add(at));
                    let what = (place, 4, Type::B32, Class::Unknown);
                    value = self.read(block, warp, frame, what, lane, &mut found).map_err(stop)?;
                    value &= u64::MAX >> (64 - 8 * kept);
                }
                self.write(
                    block,
                    warp,
                    frame,
                    (MemoryPlace::Shared(to[lane].wrapping_add(at)), 4, Class::Unknown, value),
                    lane,
                    &mut found,
                )
                .map_err(stop)?;
            }
        }
        self.note_found(found);
        Ok(())
    }

    /// Reads a word for a collective instruction, at a generic or shared-memory address.
    pub(crate) fn read_for_all(
        &mut self,
        block: &mut BlockState,
        (warp, lane): (usize, usize),
        frame: &Frame,
        (space, address, bytes, ty): (Space, u64, u32, Type),
    ) -> Result<u64, Fault> {
        let mut found = Found::default();
        let class = if ty.is_float() { Class::Float(ty) } else { Class::Integer };
        let value = self.read(block, warp, frame, (place(space, address), bytes, ty, class), lane, &mut found)?;
        self.note_found(found);
        Ok(value)
    }

    /// Writes a word for a collective instruction.
    pub(crate) fn write_for_all(
        &mut self,
        block: &mut BlockState,
        (warp, lane): (usize, usize),
        frame: &mut Frame,
        (space, address, bytes, value): (Space, u64, u32, u64),
    ) -> Result<(), Fault> {
        let mut found = Found::default();
        self.write(block, warp, frame, (place(space, address), bytes, Class::Unknown, value), lane, &mut found)?;
        self.note_found(found);
        Ok(())
    }

    /// Counts sectors, lines and bank conflicts of an access, if requested.
    fn count(&mut self, access: &MemoryOperand, addresses: &Lanes, elements: u32, active: u32) {
        let Some(counts) = self.accesses.get_mut(self.at.code as usize) else { return };
        let Some(count) = counts.get_mut(self.at.site as usize) else { return };
        count.warps += 1;
        count.threads += u64::from(active.count_ones());
        let bytes = u64::from(access.bytes * elements);
        let mut global = Vec::new();
        let mut shared = Vec::new();
        let mut local = Vec::new();
        let mut constant = Vec::new();
        for lane in lanes_of(active) {
            if access.space == Space::Const {
                constant.extend((addresses[lane] / 4)..=(addresses[lane].wrapping_add(bytes - 1) / 4));
            }
            match place(access.space, addresses[lane]) {
                MemoryPlace::Global(address) => global.extend((address / 32)..=(address.wrapping_add(bytes - 1) / 32)),
                MemoryPlace::Shared(address) => shared.extend((address / 4)..=(address.wrapping_add(bytes - 1) / 4)),
                MemoryPlace::Local(address) => {
                    let (_, start) = parted(address);
                    local.extend((start / 4)..=(start.wrapping_add(bytes - 1) / 4));
                }
                MemoryPlace::Parameter(_) | MemoryPlace::Kernel(_) => {}
            }
        }
        for list in [&mut global, &mut shared, &mut local, &mut constant] {
            list.sort_unstable();
            list.dedup();
        }
        let ([x, y, z], warp) = (self.at.block, self.at.warp);
        self.local_lines.extend(local.iter().map(|word| (x, y, z, warp, *word)));
        if access.space != Space::Const {
            self.lines.extend(global.iter().map(|sector| sector / 4));
        }
        count.sectors += (global.len() + local.len()) as u64;
        let mut lines: Vec<u64> = global.iter().map(|sector| sector / 4).collect();
        lines.dedup();
        count.lines += (lines.len() + local.len()) as u64;
        let mut banks = [0u64; 32];
        for word in &shared {
            banks[(word % 32) as usize] += 1;
        }
        count.passes += banks.into_iter().max().unwrap_or(0) + constant.len() as u64;
    }
}

/// The new value of an atomic operation, PTX ISA "atom".
fn combine(op: AtomOp, ty: Type, flushes: bool, old: u64, (b, c): (u64, u64)) -> u64 {
    let mask = u64::MAX >> (64 - ty.bits());
    let b = b & mask;
    if let Some((format, packed)) = float::format_of(ty) {
        let mode = Mode { packed, ftz: format == F32 && flushes && op == AtomOp::Add, ..Mode::new(format) };
        let function = match op {
            AtomOp::Add => float::add,
            AtomOp::Min => float::min,
            AtomOp::Max => float::max,
            _ => return if op == AtomOp::Exch { b } else { old },
        };
        return if packed { float::packed(function, &mode, old, b, 0) } else { function(&mode, old, b, 0) };
    }
    let signed = |value: u64| {
        let shift = 64 - ty.bits();
        (value << shift).cast_signed() >> shift
    };
    match op {
        AtomOp::Add => old.wrapping_add(b) & mask,
        AtomOp::Min if ty.is_signed() => {
            if signed(b) < signed(old) {
                b
            } else {
                old
            }
        }
        AtomOp::Max if ty.is_signed() => {
            if signed(b) > signed(old) {
                b
            } else {
                old
            }
        }
        AtomOp::Min => old.min(b),
        AtomOp::Max => old.max(b),
        AtomOp::Inc => {
            if old >= b {
                0
            } else {
                integer::add::<u64>(old, 1)
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Exch => b,
        AtomOp::Cas => {
            if old == b {
                c & mask
            } else {
                old
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_local_memory_do_not_make_it_larger() {
        let (limit, unwritten) = (1 << 20, 0xa5);
        let mut local = Local::default();
        local.grow(8, limit, unwritten).unwrap();
        local.bytes[..8].copy_from_slice(&0x1122_3344_5566_7788u64.to_le_bytes());
        mark(&mut local.written, 0, 8);
        let length = local.bytes.len();
        let read = |at: u64, count: u32| local.read(at, count, (limit, unwritten));
        assert_eq!(read(0, 4), Ok((0x5566_7788, true)));
        assert_eq!(read(6, 4), Ok((0xa5a5_1122, false)));
        // Half of it lies behind what is there, and all of it.
        assert_eq!(read(length as u64 - 2, 4), Ok((0xa5a5_a5a5, false)));
        assert_eq!(read(limit - 4, 4), Ok((0xa5a5_a5a5, false)));
        assert!(read(limit - 3, 4).is_err() && read(u64::MAX, 4).is_err());
        assert_eq!(local.bytes.len(), length);
    }
}
