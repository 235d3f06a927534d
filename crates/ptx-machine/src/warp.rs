//! A warp: threads that execute together, diverge at branches, and reconverge.
//!
//! Diverged lanes form [`Split`]s. A [`Meeting`] waits for all of them at their reconvergence point (the immediate
//! post-dominator of the branch), or, for a call, at the return. Exited lanes are not waited for. PTX ISA 3.1 "A Set of
//! SIMT Multiprocessors".

use crate::decode::Code;
use crate::op::{Lanes, NOWHERE};

/// Lanes at the same instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    pub mask: u32,
    pub pc: u32,
    pub frame: u32,
    /// The innermost meeting that waits for these lanes, or `NOWHERE`.
    pub meeting: u32,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// At a barrier, by its number.
    Barrier(u32),
    /// At a collective instruction, for other lanes.
    Collective,
}

/// A reconvergence point with its waiting lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meeting {
    pub pc: u32,
    pub frame: u32,
    /// Lanes that take part, and those that have arrived.
    pub expected: u32,
    pub arrived: u32,
    pub parent: u32,
    /// The frame of the function that returns here, or `NOWHERE`.
    pub returns: u32,
    /// Lanes from different callees reconverge here; a returning callee arrives here directly.
    pub is_after_calls: bool,
    pub is_used: bool,
}

/// A function's frame, for the lanes that called it.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub code: u32,
    pub parent: u32,
    /// Index of the call instruction in the caller.
    pub call_pc: u32,
    pub depth: u32,
    pub registers: Vec<Lanes>,
    pub predicates: Vec<u32>,
    /// The carry flag of each lane.
    pub carry: u32,
    /// Parameters of this function and of its calls: a fixed number of bytes per lane.
    pub parameters: Vec<u8>,
    /// Start of its local variables; the same for all lanes.
    pub local_base: u64,
    /// By lane: the lowest start of a callee's local variables.
    pub local_top: [u64; 32],
    /// Blocks from `alloca`: lane, start, end.
    pub allocations: Vec<(u8, u64, u64)>,
}

/// Local memory of a lane, with a map of the bytes written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Local {
    pub bytes: Vec<u8>,
    pub written: Vec<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Warp {
    pub index: u32,
    /// Lanes that have a thread.
    pub exists: u32,
    pub exited: u32,
    pub splits: Vec<Split>,
    pub meetings: Vec<Meeting>,
    pub frames: Vec<Option<Box<Frame>>>,
    pub local: Vec<Local>,
    pub tid: [Lanes; 3],
    /// Collective instructions executed so far.
    pub collectives: u32,
    /// Value of registers that nothing wrote.
    pub unset: u8,
}

impl Warp {
    pub fn new(index: u32, block: [u32; 3], unset: u8) -> Self {
        let count = block.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let mut tid = [[0; 32]; 3];
        let mut exists = 0;
        for lane in 0..32u64 {
            let thread = u64::from(index) * 32 + lane;
            if thread < count {
                exists |= 1 << lane;
            }
            let (x, y) = (u64::from(block[0]), u64::from(block[1]));
            tid[0][lane as usize] = thread % x;
            tid[1][lane as usize] = thread / x % y;
            tid[2][lane as usize] = thread / x / y;
        }
        Self {
            index,
            exists,
            exited: 0,
            splits: Vec::new(),
            meetings: Vec::new(),
            frames: Vec::new(),
            local: vec![Local::default(); 32],
            tid,
            collectives: 0,
            unset,
        }
    }

    /// Lanes that have not exited.
    pub fn alive(&self) -> u32 {
        self.exists & !self.exited
    }

    pub fn add_frame(
        &mut self,
        code: &Code,
        index: u32,
        parent: u32,
        call_pc: u32,
        local_base: u64,
        depth: u32,
    ) -> u32 {
        let top = local_base + code.local_bytes;
        let frame = Box::new(Frame {
            code: index,
            parent,
            call_pc,
            depth,
            registers: vec![[u64::from(self.unset); 32]; code.registers],
            predicates: vec![0; code.registers],
            carry: 0,
            parameters: vec![0; code.parameter_bytes as usize * 32],
            local_base,
            local_top: [top; 32],
            allocations: Vec::new(),
        });
        match self.frames.iter().position(Option::is_none) {
            Some(free) => {
                self.frames[free] = Some(frame);
                free as u32
            }
            None => {
                self.frames.push(Some(frame));
                self.frames.len() as u32 - 1
            }
        }
    }

    pub fn add_meeting(&mut self, pc: u32, frame: u32, expected: u32, parent: u32, returns: u32) -> u32 {
        let meeting =
            Meeting { pc, frame, expected, arrived: 0, parent, returns, is_after_calls: false, is_used: true };
        match self.meetings.iter().position(|meeting| !meeting.is_used) {
            Some(free) => {
                self.meetings[free] = meeting;
                free as u32
            }
            None => {
                self.meetings.push(meeting);
                self.meetings.len() as u32 - 1
            }
        }
    }

    /// Lanes arrive at a meeting. The last ones release all. Returns the frame that they return from, if any.
    pub fn arrive(&mut self, number: u32, mask: u32) -> Option<Returned> {
        let meeting = &mut self.meetings[number as usize];
        meeting.arrived |= mask;
        self.complete(number)
    }

    /// Releases the lanes of a meeting if all expected lanes have arrived.
    fn complete(&mut self, number: u32) -> Option<Returned> {
        let meeting = self.meetings[number as usize];
        if meeting.arrived != meeting.expected {
            return None;
        }
        self.meetings[number as usize].is_used = false;
        let mut returned = None;
        if meeting.returns != NOWHERE {
            returned =
                self.frames[meeting.returns as usize].take().map(|frame| Returned { frame, mask: meeting.arrived });
        }
        let outer = self.meetings.get(meeting.parent as usize);
        if meeting.arrived != 0 && meeting.returns != NOWHERE && outer.is_some_and(|outer| outer.is_after_calls) {
            // The outer meeting is not a return, so there is no second frame.
            self.arrive(meeting.parent, meeting.arrived);
        } else if meeting.arrived != 0 {
            self.splits.push(Split {
                mask: meeting.arrived,
                pc: meeting.pc,
                frame: meeting.frame,
                meeting: meeting.parent,
                state: State::Ready,
            });
        }
        returned
    }

    /// Removes lanes from all meetings up to that of their frame's return (exclusive), or from all meetings if `all`.
    /// Returns the number of the return's meeting, and the frames that return because only these lanes were still
    /// expected.
    pub fn leave(&mut self, from: u32, mask: u32, all: bool) -> (u32, Vec<Returned>) {
        let mut next = from;
        let mut returned = Vec::new();
        while next != NOWHERE {
            let meeting = &mut self.meetings[next as usize];
            let parent = meeting.parent;
            if meeting.returns != NOWHERE && !all {
                break;
            }
            meeting.expected &= !mask;
            returned.extend(self.complete(next));
            next = parent;
        }
        (next, returned)
    }

    /// Releases the lanes that wait at the newest meeting. The missing lanes may be waiting for them elsewhere.
    pub fn force(&mut self) -> bool {
        let waiting = self.meetings.iter().rposition(|m| m.is_used && m.arrived != 0 && m.returns == NOWHERE);
        let Some(number) = waiting else { return false };
        let meeting = &mut self.meetings[number];
        let mask = std::mem::take(&mut meeting.arrived);
        meeting.expected &= !mask;
        let (pc, frame, parent) = (meeting.pc, meeting.frame, meeting.parent);
        if meeting.expected == 0 {
            meeting.is_used = false;
        }
        self.splits.push(Split { mask, pc, frame, meeting: parent, state: State::Ready });
        true
    }
}

/// Lanes that return from a function, with its frame.
pub(crate) struct Returned {
    pub frame: Box<Frame>,
    pub mask: u32,
}
