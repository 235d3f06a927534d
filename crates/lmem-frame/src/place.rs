//! Maps lines of the PTX to locations in the user's files.

use std::sync::Arc;

use cuda_syntax::{SyntaxTrees, TreeId};
use lmem_base::chain::Chain;
use nv_code::{Location, PtxFunction, PtxModule, SourceLine, SourceLines, UnitFacts};

pub use cuda_syntax::tree::{Place, Places};

/// The inline chain of a PTX instruction, restricted to the user's files.
pub fn places(trees: &SyntaxTrees<'_>, module: &PtxModule, function: &PtxFunction, location: Option<u32>) -> Places {
    let mut chain = Places::default();
    // From the first level that is known, or from the kernel, to the innermost.
    let mut unknown = Vec::new();
    for level in Levels::new(function, location) {
        let key = (Arc::clone(&function.name), level.number, level.callee.cloned());
        if let Some(known) = trees.places.borrow().get(&key) {
            chain = known.clone();
            break;
        }
        unknown.push((key, level));
    }
    for (key, level) in unknown.into_iter().rev() {
        if let Some(place) = level.place(trees, module) {
            chain = Chain::new(place, chain);
        }
        trees.places.borrow_mut().insert(key, chain.clone());
    }
    chain
}

/// The innermost level of that chain.
pub fn innermost(
    trees: &SyntaxTrees<'_>,
    module: &PtxModule,
    function: &PtxFunction,
    location: Option<u32>,
) -> Option<Place> {
    Levels::new(function, location).find_map(|level| level.place(trees, module))
}

/// The lines of a PTX instruction, innermost first, whatever files they are in; none if it has no line.
pub fn lines(module: &PtxModule, function: &PtxFunction, location: Option<u32>) -> SourceLines {
    let levels: Vec<Level<'_>> = Levels::new(function, location).collect();
    if levels.first().is_none_or(|level| level.location.line == 0) {
        return SourceLines::default();
    }
    let line = |level: &Level<'_>| {
        let file = module.files.get(&level.location.file)?;
        Some(SourceLine { file: file.as_str().into(), line: level.location.line })
    };
    levels.iter().filter_map(line).collect()
}

/// A location in the user's files: the text, the line, and the offset.
pub fn position(trees: &SyntaxTrees<'_>, module: &PtxModule, location: &Location) -> Option<(TreeId, u32, usize)> {
    let location = Some(location).filter(|location| location.line > 0)?;
    let (tree, line) = trees.locate(module.files.get(&location.file)?, location.line)?;
    Some((tree, line, trees.tree(tree).offset(line, location.column)?))
}

/// A location, and what was inlined there.
struct Level<'p> {
    number: u32,
    location: &'p Location,
    function: &'p PtxFunction,
    callee: Option<&'p Arc<str>>,
}

impl Level<'_> {
    /// The location in the user's files.
    fn place(&self, trees: &SyntaxTrees<'_>, module: &PtxModule) -> Option<Place> {
        let location = self.location;
        let (tree, line, offset) = position(trees, module, location)?;
        let outermost = || location.inlined_at.is_none().then_some(&self.function.name);
        let function = location.function.as_ref().or_else(outermost).cloned();
        Some(Place { tree, line, offset, function, callee: self.callee.cloned() })
    }
}

/// A location and those that it was inlined at, innermost first.
struct Levels<'p> {
    function: &'p PtxFunction,
    next: Option<usize>,
    callee: Option<&'p Arc<str>>,
}

impl<'p> Levels<'p> {
    fn new(function: &'p PtxFunction, location: Option<u32>) -> Self {
        Self { function, next: location.map(|number| number as usize), callee: None }
    }
}

impl<'p> Iterator for Levels<'p> {
    type Item = Level<'p>;

    fn next(&mut self) -> Option<Level<'p>> {
        let number = self.next?;
        let location = self.function.locations.get(number)?;
        let level =
            Level { number: u32::try_from(number).ok()?, location, function: self.function, callee: self.callee };
        // `inlined_at` always refers to an earlier location, so that this ends.
        self.next = location.inlined_at;
        self.callee = location.function.as_ref();
        Some(level)
    }
}

/// The same as `places`, from a line table without columns.
pub fn places_of_lines(trees: &SyntaxTrees<'_>, lines: &SourceLines) -> Places {
    let place = |line: &SourceLine| {
        let (tree, line) = trees.locate(&line.file, line.line)?;
        let offset = trees.tree(tree).offset(line, 0)?;
        Some(Place { tree, line, offset, function: None, callee: None })
    };
    lines.iter().filter_map(place).collect()
}

/// The innermost place of an instruction that is a part of the PTX's at a line.
pub fn ptx_places(line: Option<u32>, unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Option<Place> {
    let (function, index) = ptx_instruction(line, unit)?;
    innermost(trees, &unit.ptx, function, function.instructions[index].location)
}

/// The instruction of the PTX at a line.
pub fn ptx_instruction(line: Option<u32>, unit: &UnitFacts) -> Option<(&PtxFunction, usize)> {
    let function = unit.ptx.function_at(line?)?;
    Some((function, function.instruction_at(line?)?))
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;
    use ptx_syntax::Module;

    use super::*;

    const TEXT: &str = "__device__ int pick(const int *slot, int i) {
  int x = slot[i];
  return slot[x];
}
__global__ void k(int *out, int n) {
  int a[8];
  out[0] = pick(a, n);
}
";

    /// Two statements of `pick` where it is inlined, and the call.
    const PTX: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"FILE\"\n.visible .entry k()\n{\n\
        .loc 1 7 3\nmov.u32 %r1, 0;\n\
        .loc 1 2 3, function_name $L__info_string0, inlined_at 1 7 3\nmov.u32 %r2, 0;\n\
        .loc 1 3 3, function_name $L__info_string0, inlined_at 1 7 3\nmov.u32 %r3, 0;\nret;\n}\n\
        .section .debug_str\n{\n$L__info_string0:\n.b8 95,90,52,112,105,99,107,0\n}\n";

    #[test]
    fn code_that_was_inlined_at_one_call_shares_the_levels_from_there_on() {
        let example = Example::new(TEXT);
        let trees = example.trees();
        let module = PtxModule::from(Module::parse(&PTX.replace("FILE", Example::NAME)).unwrap());
        let function = module.function("k").unwrap();
        let of = |number: usize| places(&trees, &module, function, function.instructions[number].location);
        let lines = |places: &Places| places.iter().map(|place| place.line).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(|number| lines(&of(number))), [vec![7], vec![2, 7], vec![3, 7]]);
        let callees = of(1).iter().map(|place| place.callee.clone()).collect::<Vec<_>>();
        assert_eq!((callees[0].as_deref(), callees[1].as_deref()), (None, Some("_Z4pick")));
        let outer = |number: usize| of(number).rest().cloned().unwrap();
        assert!(outer(1).is_same(&outer(2)) && of(1).is_same(&of(1)));
        assert_eq!(innermost(&trees, &module, function, function.instructions[2].location), of(2).first().cloned());
    }
}
