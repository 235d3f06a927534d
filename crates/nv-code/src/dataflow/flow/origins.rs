//! The leaves that a value is computed from, by name: parameters, special registers, loads.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use ptx_syntax::{AddressBase, Instruction, Modifier, Opcode, Operand, Reg};

use super::Flow;
use crate::dataflow::closure::Closure;
use crate::dataflow::flow::operands::{for_each_part, register};
use crate::dataflow::reaching::Value;
use crate::ptx::PtxFunction;

/// `[k_param_1]`, `%tid.x`, `line 17`; `None` for a loop-carried value that is not an induction variable.
pub type Origins = Option<BTreeSet<String>>;

/// A value with more origins is reported as unknown, so that the sets of all values together stay small.
const MAX_ORIGINS: usize = 1024;

/// Results so far. Origins are numbered, in place of their names.
#[derive(Default)]
pub(super) struct KnownOrigins {
    /// By value.
    values: Closure<Option<Numbers>>,
    /// The graph of instructions (even) and values (odd), for finding cycles.
    cycles: Closure<()>,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

/// A bit set of numbers: sets are joined far more often than they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Numbers {
    words: Vec<u64>,
}

impl Numbers {
    fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (number % 64);
    }

    fn join(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        (0..).zip(&self.words).flat_map(move |(index, word)| bits(*word).map(move |bit| index * 64 + bit))
    }
}

impl Flow<'_> {
    /// The origins of operands, each given with the instruction that reads it.
    pub fn origins<'o>(&self, operands: impl IntoIterator<Item = (&'o Operand, usize)>) -> Origins {
        let mut known = self.known_origins.borrow_mut();
        let KnownOrigins { values, cycles, names, numbers } = &mut *known;
        let mut found = Numbers::default();
        let mut number = |name: String| {
            *numbers.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
            })
        };
        for (operand, at) in operands {
            let mut read: Vec<Value> = Vec::new();
            for_each_part(operand, &mut |part| match part {
                Operand::Special(special) => found.insert(number(special.to_string())),
                Operand::Address(address) => {
                    if let AddressBase::Reg(base) = address.base {
                        read.push(self.reaching.at(base, at));
                    }
                }
                _ => read.extend(register(part).map(|register| self.reaching.at(register, at))),
            });
            for value in read {
                let visit = |node: usize, successors: &mut Vec<usize>| {
                    self.own_origins(Value::of(node), successors, cycles, &mut number)
                };
                let origins: Rc<Option<Numbers>> = values.of(value.index(), visit, |all, more| {
                    let joined = all.take().zip(more.as_ref()).map(|(mut all, more)| {
                        all.join(more);
                        all
                    });
                    *all = joined.filter(|all| all.len() <= MAX_ORIGINS);
                });
                found.join((*origins).as_ref()?);
            }
        }
        Some(found.iter().filter_map(|number| names.get(number as usize).cloned()).collect())
    }

    fn own_origins(
        &self,
        value: Value,
        successors: &mut Vec<usize>,
        cycles: &mut Closure<()>,
        number: &mut impl FnMut(String) -> u32,
    ) -> Option<Numbers> {
        let definitions = self.reaching.definitions(value);
        if definitions.is_empty() || self.is_carried(value, &definitions, cycles) {
            return None;
        }
        let mut found = Numbers::default();
        for definition in definitions.iter() {
            let instruction = &self.function.instructions[*definition];
            if let Some(origin) = origin(instruction, self.function) {
                found.insert(number(origin));
                continue;
            }
            for_each_source(instruction, &mut |part| match part {
                Operand::Special(special) => found.insert(number(special.to_string())),
                _ => successors.extend(register(part).map(|register| self.reaching.at(register, *definition).index())),
            });
        }
        Some(found)
    }

    /// Whether a value is loop-carried and not an induction variable.
    fn is_carried(&self, value: Value, definitions: &[usize], cycles: &mut Closure<()>) -> bool {
        definitions.len() > 1
            && self.induction(self.reaching.register(value), definitions).is_none()
            && definitions.iter().any(|definition| self.is_made_from_itself(*definition, cycles))
    }

    /// Whether an instruction's result depends on itself.
    fn is_made_from_itself(&self, definition: usize, cycles: &mut Closure<()>) -> bool {
        let visit = |node: usize, successors: &mut Vec<usize>| {
            if node % 2 == 1 {
                let definitions = self.reaching.definitions(Value::of(node / 2));
                return successors.extend(definitions.iter().map(|definition| definition * 2));
            }
            let at = node / 2;
            let instruction = &self.function.instructions[at];
            if origin(instruction, self.function).is_none() {
                let mut read = |register: Reg| successors.push(self.reaching.at(register, at).index() * 2 + 1);
                for_each_source(instruction, &mut |part| {
                    if let Some(register) = register(part) {
                        read(register);
                    }
                });
            }
        };
        cycles.of(definition * 2, visit, |(), ()| ());
        cycles.is_circular(definition * 2)
    }
}

/// The origin that an instruction introduces; `None` for an instruction that only computes.
fn origin(definition: &Instruction, function: &PtxFunction) -> Option<String> {
    match definition.opcode() {
        Opcode::Ld if definition.has(Modifier::Param) => {
            let address = definition.address();
            let name = address.and_then(|address| Some((function.base_name(&address.base)?, address.offset)));
            name.filter(|(name, _)| !name.contains("retval")).map(|(name, offset)| match offset {
                0 => format!("[{name}]"),
                _ => format!("[{name}{offset:+}]"),
            })
        }
        Opcode::Ld
        | Opcode::Ldu
        | Opcode::Tex
        | Opcode::Suld
        | Opcode::Atom
        | Opcode::Match
        | Opcode::Shfl
        | Opcode::Vote
        | Opcode::Activemask
        | Opcode::Redux => None,
        _ => return None,
    }
    .or_else(|| Some(format!("line {}", definition.first_line)))
}

fn for_each_source<'o>(definition: &'o Instruction, visit: &mut dyn FnMut(&'o Operand)) {
    definition.operands.iter().skip(1).for_each(|operand| for_each_part(operand, visit));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxModule;

    fn origins_in(body: &str, register: &str) -> Origins {
        let text = format!(
            ".visible .entry k(\n.param .u64 k_param_0,\n.param .u32 k_param_1\n)\n{{\nld.param.u32 %n, [k_param_1];\n{body}\nret;\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let flow = Flow::new(&module.functions[0]);
        let end = flow.function.instructions.len() - 1;
        let operand = Operand::Reg(flow.function.register_named(register).unwrap());
        flow.origins([(&operand, end)])
    }

    #[test]
    fn sets_of_numbers_join() {
        let of = |numbers: &[u32]| {
            let mut set = Numbers::default();
            numbers.iter().for_each(|number| set.insert(*number));
            set
        };
        let mut set = of(&[3, 64]);
        set.join(&of(&[3, 200]));
        set.join(&of(&[]));
        assert_eq!((set.iter().collect::<Vec<_>>(), set.len()), (vec![3, 64, 200], 3));
    }

    #[test]
    fn the_rest_depends_on_the_length() {
        let body = "mov.u32 %r1, 0;\n$L1:\nadd.s32 %r1, %r1, 4;\nand.b32 %r2, %n, -4;\nsetp.ne.s32 %p1, %r1, %r2;\n@%p1 bra $L1;\n\
                    mov.u32 %r3, 0;\n@%p2 bra $L2;\nmov.u32 %r3, %r1;\n$L2:\nadd.s32 %r4, %r3, %r2;";
        assert_eq!(origins_in(body, "%r4"), Some(BTreeSet::from(["[k_param_1]".to_string()])));
        assert_eq!(origins_in(body, "%r1"), Some(BTreeSet::new()));
    }

    #[test]
    fn steps_outside_of_loops_carry_nothing() {
        let body =
            "mov.u32 %r1, 0;\n@%p1 bra $L1;\nadd.s32 %r1, %r1, 4;\n$L1:\n@%p2 bra $L2;\nadd.s32 %r1, %r1, 2;\n$L2:";
        assert_eq!(origins_in(body, "%r1"), Some(BTreeSet::new()));
        assert_eq!(origins_in(&format!("$L0:\n{body}\n@%p3 bra $L0;"), "%r1"), Some(BTreeSet::new()));
        let carried = body.replace("mov.u32 %r1, 0;", "");
        assert_eq!(origins_in(&format!("mov.u32 %r1, 0;\n$L0:\n{carried}\n@%p3 bra $L0;"), "%r1"), None);
    }

    #[test]
    fn what_is_loaded_or_carried_is_something_else() {
        let loaded = "ld.global.u32 %r1, [%rd1];\nadd.s32 %r2, %r1, %n;";
        assert_eq!(origins_in(loaded, "%r2").unwrap().len(), 2);
        let carried = "mov.u32 %r1, 0;\n$L1:\nadd.s32 %r2, %r1, 1;\n@%p1 bra $L2;\nmov.u32 %r2, %r1;\n$L2:\nmov.u32 %r1, %r2;\nbra $L1;";
        assert_eq!(origins_in(carried, "%r1"), None);
    }
}
