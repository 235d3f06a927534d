//! Liveness of machine registers, instruction by instruction.
//!
//! A backward data-flow analysis over the control-flow graph of one function: a register is live at a point if some
//! path from there reads it before writing it. A predicated write may not happen, so it does not end a live range.

use super::registers::{Operands, RegisterSet, operands};
use super::sass::SassFunction;

/// The control flow after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    /// A branch to the instruction with this number; a conditional one may also fall through.
    Branch {
        target: usize,
        is_conditional: bool,
    },
    /// The end of the function; a conditional one may fall through.
    End {
        is_conditional: bool,
    },
    Call {
        target: usize,
    },
}

struct Step {
    operands: Operands,
    /// Executed only under a predicate.
    is_predicated: bool,
    flow: Flow,
}

/// What a callee does to the registers of its callers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Summary {
    /// Read before they are written.
    needed: RegisterSet,
    /// Written on every path.
    written: RegisterSet,
}

/// The live registers at each instruction: those whose values it or a later instruction reads, and those that it
/// writes. `nvdisasm -plr` counts the same.
///
/// `None` if an instruction is not known, or if a jump or call is indirect.
pub fn live_registers(function: &SassFunction<'_>, number: u32) -> Option<Vec<RegisterSet>> {
    let steps = steps(function, number)?;
    let mut summaries = std::collections::BTreeMap::new();
    for step in &steps {
        if let Flow::Call { target } = step.flow {
            summaries.insert(target, Summary::default());
        }
    }
    // Functions may be recursive, so the summaries are iterated to a fixed point.
    for _ in 0..=summaries.len() {
        let mut has_changed = false;
        for target in summaries.keys().copied().collect::<Vec<_>>() {
            let needed = live_before(&steps, target, &summaries)[target];
            let written = written_by(&steps, target, &summaries);
            let summary = Summary { needed, written };
            has_changed |= summaries.insert(target, summary) != Some(summary);
        }
        if !has_changed {
            break;
        }
    }
    let live = live_before(&steps, 0, &summaries);
    Some(steps.iter().zip(live).map(|(step, live)| live.union(step.operands.writes)).collect())
}

fn steps(function: &SassFunction<'_>, number: u32) -> Option<Vec<Step>> {
    let decode = |(offset, lo, hi): (u32, u64, u64)| -> Option<Step> {
        let is_predicated = lo >> 12 & 0xf != 7;
        let target = || Some(function.relative_target(offset, lo, hi)? as usize / super::sass::INSTRUCTION_BYTES);
        let flow = match lo & 0xfff {
            0x947 | 0x547 => {
                // A second predicate is encoded above the branch target.
                let is_conditional = is_predicated || hi >> 23 & 0xf != 7 || lo & 0xfff == 0x547;
                Flow::Branch { target: target()?, is_conditional }
            }
            0x94d | 0x950 => Flow::End { is_conditional: is_predicated },
            0x944 => Flow::Call { target: target()? },
            0x949 | 0x958 | 0x343 | 0x344 => return None,
            _ => Flow::Next,
        };
        let operands = match flow {
            Flow::Call { .. } | Flow::Branch { .. } => Operands::default(),
            _ => operands(number, lo, hi)?,
        };
        Some(Step { operands, is_predicated, flow })
    };
    function.words().map(decode).collect()
}

type Summaries = std::collections::BTreeMap<usize, Summary>;

/// The live registers before each instruction that is reachable from `entry`.
fn live_before(steps: &[Step], entry: usize, summaries: &Summaries) -> Vec<RegisterSet> {
    let mut live = vec![RegisterSet::default(); steps.len()];
    let order = reached(steps, entry);
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for index in order.iter().rev().copied() {
            let step = &steps[index];
            let after = successors(step, index)
                .map(|next| live.get(next).copied().unwrap_or_default())
                .fold(RegisterSet::default(), RegisterSet::union);
            let (reads, writes) = match step.flow {
                Flow::Call { target } => {
                    summaries.get(&target).map_or_else(Default::default, |it| (it.needed, it.written))
                }
                _ => (step.operands.reads, step.operands.writes),
            };
            let kept = if step.is_predicated { after } else { after.without(writes) };
            let before = kept.union(reads);
            has_changed |= before != live[index];
            live[index] = before;
        }
    }
    live
}

/// The registers that are written on every path from `entry` to an end of the function.
fn written_by(steps: &[Step], entry: usize, summaries: &Summaries) -> RegisterSet {
    let order = reached(steps, entry);
    let mut written: Vec<Option<RegisterSet>> = vec![None; steps.len()];
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for index in order.iter().rev().copied() {
            let step = &steps[index];
            let own = match step.flow {
                Flow::Call { target } => summaries.get(&target).map(|it| it.written).unwrap_or_default(),
                _ if step.is_predicated => RegisterSet::default(),
                _ => step.operands.writes,
            };
            let ends = matches!(step.flow, Flow::End { .. });
            let ways = successors(step, index).filter_map(|next| written.get(next).copied().flatten());
            let behind = ways.reduce(RegisterSet::intersection);
            let behind = if ends { Some(RegisterSet::default()) } else { behind };
            let all = behind.map(|behind| behind.union(own));
            has_changed |= all != written[index];
            written[index] = all;
        }
    }
    written.get(entry).copied().flatten().unwrap_or_default()
}

fn successors(step: &Step, index: usize) -> impl Iterator<Item = usize> {
    let (next, other) = match step.flow {
        Flow::Next | Flow::Call { .. } | Flow::End { is_conditional: true } => (Some(index + 1), None),
        Flow::End { is_conditional: false } => (None, None),
        Flow::Branch { target, is_conditional } => (is_conditional.then_some(index + 1), Some(target)),
    };
    next.into_iter().chain(other)
}

/// The reachable instructions, in order.
fn reached(steps: &[Step], entry: usize) -> Vec<usize> {
    let mut seen = vec![false; steps.len()];
    let mut open = vec![entry];
    while let Some(index) = open.pop() {
        let Some(known) = seen.get_mut(index) else { continue };
        if !std::mem::replace(known, true) {
            open.extend(successors(&steps[index], index));
        }
    }
    (0..steps.len()).filter(|index| seen[*index]).collect()
}
