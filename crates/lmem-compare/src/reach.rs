//! Whether a launch executes what an edit changes.
//!
//! A guard or an early return may keep a launch from the changed code. Equal results then prove nothing.
//!
//! Blocks of code are compared without registers, labels and order, as compilers choose these anew. Of the blocks that
//! only the original has, those that read memory of the thread tell most: an array that is filled and never read has no
//! effect.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use ptx_machine::{Outcome, Program};
use ptx_syntax::{Graph, Instruction, Module, Opcode, Operand, Space};

/// A block: the position of its function in the program, and its own in the function.
type Place = (usize, usize);

/// The changed blocks of both versions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reach {
    before: BTreeSet<Place>,
    after: BTreeSet<Place>,
    /// Of those of the original, the ones that no launch has executed yet.
    left: BTreeSet<Place>,
}

impl Reach {
    pub fn new(modules: [&Module; 2], before: &Program, after: &Program) -> Self {
        let (old, new) = (blocks(modules[0], before), blocks(modules[1], after));
        let changed = without(&old, &new);
        let reads: BTreeSet<Place> = changed.iter().filter(|block| block.reads).map(|block| block.place).collect();
        let before = if reads.is_empty() { changed.iter().map(|block| block.place).collect() } else { reads };
        let after = without(&new, &old).iter().map(|block| block.place).collect();
        Self { left: before.clone(), before, after }
    }

    /// The blocks of one version that read local memory. If it has none, as with spills, any launch will do.
    pub fn of_local_memory(module: &Module, program: &Program) -> Self {
        let blocks = blocks(module, program);
        let before: BTreeSet<Place> = blocks.iter().filter(|block| block.reads).map(|block| block.place).collect();
        Self { left: before.clone(), before, after: BTreeSet::new() }
    }

    /// Whether a run of the original executes a changed block.
    pub fn in_original(&self, outcome: &Outcome) -> bool {
        executes(&self.before, outcome)
    }

    /// Whether runs of both versions execute changed blocks; notes which.
    pub fn note(&mut self, before: &Outcome, after: &Outcome) -> bool {
        let is_reached = self.in_original(before) && executes(&self.after, after);
        self.left.retain(|place| !is_executed(*place, before));
        is_reached
    }

    /// Whether some changed blocks of the original were executed in no launch.
    pub fn is_incomplete(&self) -> bool {
        !self.left.is_empty()
    }
}

/// Whether one of the blocks is executed. An edit may leave no block of its own behind.
fn executes(places: &BTreeSet<Place>, outcome: &Outcome) -> bool {
    places.is_empty() || places.iter().any(|place| is_executed(*place, outcome))
}

fn is_executed((function, block): Place, outcome: &Outcome) -> bool {
    outcome.blocks.get(function).and_then(|blocks| blocks.get(block)).is_some_and(|count| count.warps > 0)
}

struct Block {
    place: Place,
    key: u64,
    /// Whether it reads memory that may be the thread's own, or calls what may do so.
    reads: bool,
}

fn blocks(module: &Module, program: &Program) -> Vec<Block> {
    let mut all = Vec::new();
    for (position, name) in program.functions().enumerate() {
        let Some(function) = module.functions.iter().find(|function| &*function.name == name) else { continue };
        for (number, info) in Graph::new(function).blocks.iter().enumerate() {
            let body = function.instructions.get(info.start as usize..info.end as usize).unwrap_or_default();
            let mut keys: Vec<u64> = body.iter().filter(|it| !vanishes(it)).map(key).collect();
            if keys.is_empty() {
                continue;
            }
            keys.sort_unstable();
            all.push(Block { place: (position, number), key: hashed(&keys), reads: body.iter().any(reads) });
        }
    }
    all
}

/// The blocks that have no equal among the others.
fn without<'a>(blocks: &'a [Block], others: &[Block]) -> Vec<&'a Block> {
    let mut rest: HashMap<u64, usize> = HashMap::new();
    others.iter().for_each(|block| *rest.entry(block.key).or_default() += 1);
    let is_changed = |block: &&Block| match rest.get_mut(&block.key) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    blocks.iter().filter(is_changed).collect()
}

/// Whether an instruction only hands on values or addresses.
fn vanishes(instruction: &Instruction) -> bool {
    match instruction.opcode() {
        Opcode::Mov | Opcode::Cvta | Opcode::Bra | Opcode::Ret => true,
        Opcode::Ld => instruction.form.space() == Space::Param,
        _ => false,
    }
}

fn reads(instruction: &Instruction) -> bool {
    match instruction.opcode() {
        Opcode::Ld => matches!(instruction.form.space(), Space::Local | Space::Generic),
        opcode => opcode == Opcode::Call,
    }
}

fn key(instruction: &Instruction) -> u64 {
    let operands: Vec<String> = instruction.operands.iter().map(described).collect();
    hashed(&(&*instruction.form.text, instruction.guard.is_some(), operands))
}

/// An operand without registers and labels.
fn described(operand: &Operand) -> String {
    match operand {
        Operand::Reg(_) | Operand::NotReg(_) | Operand::NegReg(_) | Operand::Label(_) => String::new(),
        Operand::Variable(..) | Operand::Address(_) => String::from("[]"),
        Operand::Vector(parts) | Operand::List(parts) | Operand::Bracket(parts) => {
            parts.iter().map(described).collect::<Vec<_>>().join(",")
        }
        Operand::Pair(pair) => described(&pair.0) + "|" + &described(&pair.1),
        other => format!("{other:?}"),
    }
}

fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use lmem_base::diagnostic::Comparison;

    use crate::{Terms, Versions};

    /// A kernel that sums `read` into its output where a hash of its input has one value in 2^32.
    fn kernel(read: &str) -> String {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(\n.param .u64 in,\n.param .u64 out\n)\n{{\n\
             .local .align 4 .b8 __local_depot0[16];\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n\
             ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n\
             add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.u32 %r2, [%rd4];\n\
             mul.lo.u32 %r3, %r2, -1640531535;\nxor.b32 %r3, %r3, %r2;\nmov.u32 %r4, 7;\nshr.u32 %r5, %r3, 9;\n\
             setp.ne.u32 %p1, %r5, 1234567;\n@%p1 bra DONE;\n{read}\nDONE:\nst.global.u32 [%rd5], %r4;\nret;\n}}\n"
        )
    }

    fn compared(before: &str, after: &str) -> Comparison {
        Versions::new(&kernel(before), &kernel(after)).unwrap().compare("k", Terms::default()).results
    }

    #[test]
    fn launches_that_miss_the_changed_code_prove_nothing() {
        let local = "mov.u64 %rd6, __local_depot0;\nst.local.u32 [%rd6], %r2;\nld.local.u32 %r4, [%rd6];";
        let why = "too few launches execute what the edit changes".to_string();
        assert_eq!(compared(local, "add.u32 %r4, %r2, 3;"), Comparison::NotCompared { why });
        // The same where all threads get there.
        let reached = |code: &str| kernel(code).replace("@%p1 bra DONE;", "");
        let versions = |after| Versions::new(&reached(local), &reached(after)).unwrap();
        let same = versions("add.u32 %r4, %r2, 0;").compare("k", Terms::default()).results;
        assert!(matches!(same, Comparison::Same { launches: 24.. }), "{same:?}");
        let wrong = versions("add.u32 %r4, %r2, 3;").compare("k", Terms::default()).results;
        assert!(matches!(wrong, Comparison::Different { .. }), "{wrong:?}");
    }

    /// `if (tid + 8 >= n - 8) return; out[tid] = array[degree]`, for an array of 8.
    fn guarded(last: &str) -> String {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(\n.param .u64 in,\n.param .u64 out,\n\
             .param .u32 n,\n.param .u32 degree\n)\n{{\n.local .align 4 .b8 __local_depot0[32];\n.reg .b64 %rd<12>;\n\
             .reg .b32 %r<9>;\n.reg .pred %p<3>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
             ld.param.u32 %r1, [n];\nld.param.u32 %r2, [degree];\nmov.u32 %r3, %tid.x;\nadd.s32 %r4, %r3, 8;\n\
             add.s32 %r5, %r1, -8;\nsetp.ge.s32 %p1, %r4, %r5;\n@%p1 bra DONE;\nmul.wide.u32 %rd3, %r3, 4;\n\
             add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.u32 %r6, [%rd4];\n\
             mov.u64 %rd6, __local_depot0;\n{}mul.wide.s32 %rd7, %r2, 4;\nadd.s64 %rd8, %rd6, %rd7;\n\
             ld.local.u32 %r7, [%rd8];\n{last}\nst.global.u32 [%rd5], %r7;\nDONE:\nret;\n}}\n",
            (0..8).map(|at| format!("st.local.u32 [%rd6+{}], %r6;\n", at * 4)).collect::<String>()
        )
    }

    #[test]
    fn guards_get_large_numbers_where_indexes_need_small_ones() {
        let compared =
            |last: &str| Versions::new(&guarded(""), &guarded(last)).unwrap().compare("k", Terms::default()).results;
        let same = compared("add.u32 %r7, %r7, 0;");
        assert!(matches!(same, Comparison::Same { launches: 16.. }), "{same:?}");
        assert!(matches!(compared("add.u32 %r7, %r7, 1;"), Comparison::Different { .. }));
    }
}
