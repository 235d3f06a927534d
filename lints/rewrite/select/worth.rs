//! Whether selects cost no more than the local memory accesses that they replace.

use lmem_base::diagnostic::Uniformity;
use lmem_frame::{Address, StackObject};

use super::Selection;

/// Up to this many elements, a chain of selects is faster than local memory for a divergent index.
pub const SELECT_ELEMENTS: u64 = 16;
/// Up to this many elements, it is as fast.
pub const MOST_ELEMENTS: u64 = 32;
/// Limit for an array that is only read with such an index, because it stays in the cache. On an H200 a loop of reads
/// from 16 elements took 0.228 ms, and 0.542 ms with selects.
const READ_ELEMENTS: u64 = 8;
/// Limit for a uniform index.
const UNIFORM_ELEMENTS: u64 = 4;

/// Limit on the selects of all accesses together. Measured on an H200, relative to the speed with local memory: ten
/// reads from 8 elements in a loop ran at 0.63, three chains over a stack of 32 elements at 0.43.
const MOST_SELECTS: u64 = 64;

/// Whether the selects are not slower than the local accesses that they replace.
pub fn is_worth(object: &StackObject, selection: &Selection) -> bool {
    let is_walked_deeper = is_walked_deeper(object);
    let limit = match selection.has_writes {
        _ if is_walked_deeper => MOST_ELEMENTS,
        true => limit(object),
        false => limit(object).min(READ_ELEMENTS),
    };
    let is_short = selection.selects <= MOST_SELECTS || is_walked_deeper;
    is_short && selection.elements.is_some_and(|elements| elements <= limit)
}

/// Whether loops over the elements are nested deeper than any select: then one select saves all accesses of these
/// loops.
fn is_walked_deeper(object: &StackObject) -> bool {
    let deepest = |is_wanted: &dyn Fn(&Address) -> bool| {
        let accesses = object.accesses.iter().filter(|access| is_wanted(&access.address));
        accesses.map(|access| access.loop_depth).max()
    };
    let chosen = deepest(&|address| matches!(address, Address::Computed(_)));
    deepest(&|address| matches!(address, Address::Induction(_))) > chosen
}

/// The number of elements up to which a chain of selects is not slower than local memory.
fn limit(object: &StackObject) -> u64 {
    let sources = object.accesses.iter().filter_map(|access| match &access.address {
        Address::Computed(sources) => Some(sources.uniformity()),
        _ => None,
    });
    let is_uniform = |uniformity| uniformity == Some(Uniformity::Uniform);
    match sources.fold((true, true), |(all, known), it| (all && is_uniform(it), known && it.is_some())) {
        (true, _) => UNIFORM_ELEMENTS,
        (false, true) => MOST_ELEMENTS,
        (false, false) => SELECT_ELEMENTS,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{kernel, with_object};
    use super::super::{Form, suggestion};

    /// Whether selects are suggested for an array in a kernel with the given statements.
    fn is_offered(name: &str, body: &str) -> bool {
        let text = kernel(body);
        with_object(name, &text, body, |object| Some(suggestion(object, Form::Branch).is_some())).unwrap()
    }

    #[test]
    fn many_selects_cost_more_than_they_save() {
        let reads = |count: usize| (0..count).map(|at| format!("    out[{at}] = b[2][n + {at}];")).collect::<Vec<_>>();
        assert!(is_offered("b", &reads(8).join("\n")));
        assert!(!is_offered("b", &reads(9).join("\n")));
        // Two equal uses in a statement share one select.
        let squares: Vec<String> = (0..8).map(|at| format!("    out[{at}] = b[2][n] * b[2][n] + {at};")).collect();
        assert!(is_offered("b", &squares.join("\n")));
    }

    #[test]
    fn a_statement_has_few_chains() {
        let sum = |count: usize| {
            let terms: Vec<String> = (0..count).map(|at| format!("b[2][n + {at}]")).collect();
            format!("    out[n] = {};", terms.join(" + "))
        };
        assert!(is_offered("b", &sum(4)));
        assert!(!is_offered("b", &sum(5)));
    }
}
