//! Limits the compilations for verifying suggestions. The limit counts work, not time, so equal inputs give equal
//! output on any machine.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes of PTX that take about as long to compile as the fixed cost of the smallest file.
const PTX_BYTES: usize = 256 << 10;

/// Remaining compilations, in units of small files.
pub struct Budget {
    left: AtomicU64,
    denied: AtomicUsize,
}

impl Budget {
    pub fn new(compilations: u64) -> Self {
        Self { left: AtomicU64::new(compilations), denied: AtomicUsize::new(0) }
    }

    /// Spends the cost of a compilation. The first one that is too expensive exhausts the budget: later ones matter
    /// less.
    pub fn take(&self, cost: u64) -> bool {
        let rest = self.left.load(Ordering::Relaxed);
        let is_enough = rest >= cost.max(1);
        self.left.store(if is_enough { rest - cost.max(1) } else { 0 }, Ordering::Relaxed);
        if !is_enough {
            self.denied.fetch_add(1, Ordering::Relaxed);
        }
        is_enough
    }

    /// Number of compilations that were not done for lack of budget.
    pub fn denied(&self) -> usize {
        self.denied.load(Ordering::Relaxed)
    }
}

/// The cost of compiling a unit, estimated from its PTX without edits.
pub fn cost_of(ptx: &str) -> u64 {
    1 + (ptx.len() / PTX_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_expensive_ends_it() {
        let budget = Budget::new(5);
        assert!(budget.take(2) && budget.take(1));
        assert!(!budget.take(3) && !budget.take(1));
        assert_eq!(budget.denied(), 2);
        assert!(!Budget::new(0).take(0));
        assert_eq!((cost_of(""), cost_of(&" ".repeat(600 << 10))), (1, 3));
    }
}
