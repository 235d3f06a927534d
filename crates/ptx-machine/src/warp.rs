//! A warp: threads that execute together, part at branches, and meet again.
//!
//! Lanes that part become [`Split`]s. A [`Meeting`] waits for all of them at the block where their ways join (the immediate
//! post-dominator), or, of a call, at its return. Lanes that end are not waited for. PTX ISA 3.1 "A Set of SIMT Multiprocessors".

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
    /// At a `bar`, by its number.
    Barrier(u32),
    /// At a collective instruction, for other lanes.
    Collective,
}

/// Where lanes wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meeting {
    pub pc: u32,
    pub frame: u32,
    /// Lanes that are still to come, and those that have come.
    pub expected: u32,
    pub arrived: u32,
    pub parent: u32,
    /// The frame of the function that returns here, or `NOWHERE`.
    pub returns: u32,
    /// Lanes meet here that come back from different functions: the return of each leads here at once.
    pub is_after_calls: bool,
    pub is_used: bool,
}

/// A call of a function, by some lanes.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub code: u32,
    pub parent: u32,
    /// Index of the call in the caller.
    pub call_pc: u32,
    pub depth: u32,
    pub registers: Vec<Lanes>,
    pub predicates: Vec<u32>,
    /// The carry flag of each lane.
    pub carry: u32,
    /// Parameters of this function and of the calls in it: so many bytes for each lane.
    pub parameters: Vec<u8>,
    /// Where its local variables begin; the same for all lanes.
    pub local_base: u64,
    /// Where the next function's may begin.
    pub local_top: [u64; 32],
    /// What `alloca` gave: lane, start, end.
    pub allocations: Vec<(u8, u64, u64)>,
}

/// Local memory of a lane, with what of it has been written.
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
}

impl Warp {
    pub fn new(index: u32, block: [u32; 3]) -> Self {
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
        }
    }

    /// Lanes that have not come to their end.
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
            registers: vec![[0; 32]; code.registers],
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

    /// Lanes come to a meeting; the last ones go on with all others. Gives the frame that they return from.
    pub fn arrive(&mut self, number: u32, mask: u32) -> Option<Returned> {
        let meeting = &mut self.meetings[number as usize];
        meeting.arrived |= mask;
        self.complete(number)
    }

    /// Lets lanes go on where all that are still expected have come.
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
            // It is no return itself, so nothing more comes back from it.
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

    /// Lanes leave meetings up to, and not with, the one of the frame's return, or all where `all` says so. Gives the return's meeting, and
    /// what returns because these lanes were the last ones expected.
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

    /// Lets lanes that wait at the newest meeting go on without the others, which may wait for them elsewhere.
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

/// Lanes that come back from a function, with what they bring.
pub(crate) struct Returned {
    pub frame: Box<Frame>,
    pub mask: u32,
}
