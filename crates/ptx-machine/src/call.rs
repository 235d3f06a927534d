//! Calls of functions, and of the driver's built-in functions: `vprintf`, `malloc`, `free`, `__assertfail`.

use ptx_syntax::{Space, Type};

use crate::execute::lanes_of;
use crate::machine::{BlockState, Run, Stop};
use crate::memory::CODE_WINDOW;
use crate::op::{Builtin, Call, Callee, NOWHERE};
use crate::outcome::Fault;
use crate::warp::{Frame, Split, State};

/// Limit on the length of a string that a kernel prints.
const MAX_TEXT: u64 = 1 << 16;

impl Run<'_> {
    pub(crate) fn call(
        &mut self,
        block: &mut BlockState,
        warp_index: usize,
        mut frame: Box<Frame>,
        split: Split,
        call: &Call,
        active: u32,
    ) -> Result<(), Stop> {
        let slot = split.frame as usize;
        let mut groups: Vec<(u32, u32)> = Vec::new();
        match &call.callee {
            Callee::Direct(code) => groups.push((active, *code)),
            Callee::Indirect(source) => {
                let addresses = self.reader(block, &block.warps[warp_index], &frame).copy(*source);
                for lane in lanes_of(active) {
                    let address = addresses[lane];
                    let number = address.wrapping_sub(CODE_WINDOW) / 16;
                    let is_function =
                        address.is_multiple_of(16) && (1..=self.program.codes.len() as u64).contains(&number);
                    if !is_function {
                        return Err(Stop::Fault(Fault::NoFunction { address }, lane as u32));
                    }
                    let code = number as u32 - 1;
                    match groups.iter_mut().find(|(_, other)| *other == code) {
                        Some(group) => group.0 |= 1 << lane,
                        None => groups.push((1 << lane, code)),
                    }
                }
            }
            Callee::Builtin(builtin) => {
                let result = self.builtin(block, warp_index, &mut frame, (*builtin, call), active);
                let warp = &mut block.warps[warp_index];
                warp.frames[slot] = Some(frame);
                warp.splits.push(Split { pc: split.pc + 1, ..split });
                return result;
            }
        }
        let depth = frame.depth + 1;
        if depth > self.launch.limits.call_depth {
            return Err(Stop::Fault(Fault::StackOverflow, active.trailing_zeros()));
        }
        let top = lanes_of(active).map(|lane| frame.local_top[lane]).max().unwrap_or(0);
        // A gap makes accesses past the end of a variable detectable.
        let local_base = top.next_multiple_of(16) + 64;
        let caller_bytes = self.program.codes[frame.code as usize].parameter_bytes as usize;
        let warp = &mut block.warps[warp_index];
        warp.frames[slot] = Some(frame);
        let rest = split.mask & !active;
        // Lanes with different callees, and inactive lanes, reconverge behind the call.
        let mut meeting = split.meeting;
        if rest != 0 || groups.len() > 1 {
            meeting = warp.add_meeting(split.pc + 1, split.frame, split.mask, split.meeting, NOWHERE);
            warp.meetings[meeting as usize].is_after_calls = true;
            if rest != 0 {
                warp.arrive(meeting, rest);
            }
        }
        groups.sort_by_key(|(mask, _)| std::cmp::Reverse(mask.trailing_zeros()));
        for (mask, number) in groups {
            let code = &self.program.codes[number as usize];
            let new = warp.add_frame(code, number, split.frame, split.pc, local_base, depth);
            let limit = self.local_limit();
            if local_base + code.local_bytes > limit {
                return Err(Stop::Fault(Fault::StackOverflow, mask.trailing_zeros()));
            }
            let callee = warp.frames[new as usize].take();
            if let (Some(mut callee), Some(caller)) = (callee, warp.frames[slot].as_deref()) {
                for (from, to) in call.inputs.iter().zip(&code.inputs) {
                    let bytes = from.bytes.min(to.bytes) as usize;
                    for lane in lanes_of(mask) {
                        let source = lane * caller_bytes + from.offset as usize;
                        let target = lane * code.parameter_bytes as usize + to.offset as usize;
                        callee.parameters[target..target + bytes]
                            .copy_from_slice(&caller.parameters[source..source + bytes]);
                    }
                }
                warp.frames[new as usize] = Some(callee);
            }
            for lane in lanes_of(mask) {
                warp.local[lane].forget(local_base, local_base + code.local_bytes, self.launch.limits.unwritten);
            }
            let home = warp.add_meeting(split.pc + 1, split.frame, mask, meeting, new);
            warp.splits.push(Split { mask, pc: 0, frame: new, meeting: home, state: State::Ready });
        }
        Ok(())
    }

    /// The value of an argument, for one lane.
    fn argument(&self, frame: &Frame, call: &Call, number: usize, lane: usize) -> u64 {
        let Some(slot) = call.inputs.get(number) else { return 0 };
        let size = self.program.codes[frame.code as usize].parameter_bytes as usize;
        let at = lane * size + slot.offset as usize;
        frame.parameters[at..at + slot.bytes.min(8) as usize]
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn give(&self, frame: &mut Frame, call: &Call, lane: usize, value: u64) {
        let Some(slot) = call.outputs.first() else { return };
        let size = self.program.codes[frame.code as usize].parameter_bytes as usize;
        let (at, bytes) = (lane * size + slot.offset as usize, slot.bytes.min(8) as usize);
        frame.parameters[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    fn builtin(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &mut Frame,
        (builtin, call): (Builtin, &Call),
        active: u32,
    ) -> Result<(), Stop> {
        for lane in lanes_of(active) {
            let stop = |fault| Stop::Fault(fault, lane as u32);
            let first = self.argument(frame, call, 0, lane);
            match builtin {
                Builtin::Printf => {
                    let arguments = self.argument(frame, call, 1, lane);
                    let count = self.print(block, warp, frame, (first, arguments), lane).map_err(stop)?;
                    self.give(frame, call, lane, count);
                }
                Builtin::Malloc => {
                    let address = if first == 0 { 0 } else { self.memory.allocate(first) };
                    self.give(frame, call, lane, address);
                }
                Builtin::Free => {}
                Builtin::AssertFail => {
                    let message = self.text(block, warp, frame, first, lane).map_err(stop)?;
                    return Err(stop(Fault::Assertion(message)));
                }
            }
        }
        Ok(())
    }

    /// Reads a NUL-terminated string at a generic address.
    fn text(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &Frame,
        start: u64,
        lane: usize,
    ) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        for at in 0..MAX_TEXT {
            let what = (Space::Generic, start.wrapping_add(at), 1, Type::U8);
            match self.read_for_all(block, (warp, lane), frame, what)? as u8 {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Formats a `printf`. CUDA C++ Programming Guide, "Formatted Output": arguments are packed, each aligned to its
    /// size. Returns the number of arguments.
    /// number.
    fn print(
        &mut self,
        block: &mut BlockState,
        warp: usize,
        frame: &Frame,
        (format, mut at): (u64, u64),
        lane: usize,
    ) -> Result<u64, Fault> {
        let format = self.text(block, warp, frame, format, lane)?;
        let mut count = 0;
        let mut text = String::new();
        let mut rest = format.as_str();
        while let Some(percent) = rest.find('%') {
            text.push_str(&rest[..percent]);
            rest = &rest[percent + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                text.push('%');
                rest = after;
                continue;
            }
            let Some(end) =
                rest.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'h' | 'l' | 'z' | 'j' | 't' | 'L'))
            else {
                break;
            };
            let (flags, kind) = (&rest[..end], rest.as_bytes()[end]);
            rest = &rest[end + 1..];
            let is_long = flags.contains(['l', 'z', 'j', 't'])
                || matches!(kind, b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' | b's' | b'p');
            let size = if is_long { 8 } else { 4 };
            at = at.checked_next_multiple_of(size).unwrap_or(0);
            let ty = if is_long { Type::U64 } else { Type::U32 };
            let value = self.read_for_all(block, (warp, lane), frame, (Space::Generic, at, size as u32, ty))?;
            at = at.wrapping_add(size);
            count += 1;
            let shown = match kind {
                b'd' | b'i' if is_long => value.cast_signed().to_string(),
                b'd' | b'i' => (value as u32).cast_signed().to_string(),
                b'x' => format!("{value:x}"),
                b'X' => format!("{value:X}"),
                b'o' => format!("{value:o}"),
                b'p' => format!("{value:#x}"),
                b'c' => char::from(value as u8).to_string(),
                b's' => self.text(block, warp, frame, value, lane)?,
                b'f' | b'F' => format!("{:.*}", precision(flags).unwrap_or(6), f64::from_bits(value)),
                // Enough digits to tell values apart, whatever precision the format asks for.
                b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => format!("{:e}", f64::from_bits(value)),
                _ => value.to_string(),
            };
            let width: usize = flags
                .split('.')
                .next()
                .unwrap_or("")
                .trim_start_matches(['-', '+', ' ', '#', '0'])
                .trim_end_matches(['h', 'l', 'z', 'j', 't'])
                .parse()
                .unwrap_or(0);
            let width = width.min(1 << 10);
            if flags.contains('-') {
                text.push_str(&format!("{shown:<width$}"));
            } else {
                text.push_str(&format!("{shown:>width$}"));
            }
        }
        text.push_str(rest);
        if self.printed.len() + text.len() <= self.launch.limits.printed_bytes {
            self.printed.push_str(&text);
        }
        Ok(count)
    }
}

fn precision(flags: &str) -> Option<usize> {
    let (_, digits) = flags.split_once('.')?;
    Some(digits.trim_end_matches(['h', 'l']).parse::<usize>().ok()?.min(100))
}
