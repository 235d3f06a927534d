//! The values of source operands: registers, immediates, addresses, special registers.

use ptx_syntax::SpecialRegister;

use crate::machine::{BlockState, Run};
use crate::memory::LOCAL_WINDOW;
use crate::op::*;
use crate::warp::{Frame, Warp};

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
}
