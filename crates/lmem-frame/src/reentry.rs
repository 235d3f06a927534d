//! Variables of functions that are entered again before they return: each call needs a variable of its own, and memory
//! that all calls of a thread share has one.
//!
//! A function that is inlined has no symbol. Line tables tell which functions of the PTX contain code of it.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

use cuda_syntax::ast::{Kind, Node};
use cuda_syntax::{SyntaxTree, SyntaxTrees};
use nv_code::dataflow::PossibleCalls;
use nv_code::{PtxFunction, PtxModule, UnitFacts};
use ptx_syntax::Opcode;

use crate::frame::FrameObject;

/// How a function is entered again before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reentry {
    /// Calls by name lead back to it.
    Recursion,
    /// Calls through pointers, virtual ones, or of other units may lead back to it.
    IndirectCall,
}

/// The text of a function.
type Text = (*const SyntaxTree, Range<usize>);

/// What is known by now of the functions of one unit. Each object of a function asks, and a template has objects in each instance.
#[derive(Default)]
pub struct KnownReentries {
    /// By the text of a function.
    of_source: RefCell<HashMap<Text, Option<Reentry>>>,
    /// By the name of a function that has a frame of its own.
    of_owners: RefCell<HashMap<String, Option<Reentry>>>,
    of_any: OnceCell<Option<Reentry>>,
}

/// How the function that declares an object may be entered again while the object lives. Of an object whose variable is not
/// known, any function in which it is accessed.
pub fn reentry(
    object: &FrameObject,
    facts: &UnitFacts,
    trees: &SyntaxTrees<'_>,
    known: &KnownReentries,
) -> Option<Reentry> {
    let module = &facts.ptx;
    let mut functions: Vec<SourceFunction> = Vec::new();
    let places = object.accesses.iter().flat_map(|access| access.places.iter());
    let mut places = places.chain(object.escapes.iter().flat_map(|escape| escape.places.iter()));
    let is_known = match &object.variable {
        Some(variable) => {
            let mut declared = places.filter_map(|place| {
                let tree = trees.tree(place.tree);
                Some((tree, tree.offset_of(&variable.span)?))
            });
            let found = declared.next().map(|(tree, offset)| (SourceFunction::around(tree, offset), tree, offset));
            let is_of_kernel = |tree: &SyntaxTree, offset: usize| tree.is_within_kernel(offset);
            let is_known = found
                .as_ref()
                .is_some_and(|(function, tree, offset)| function.is_some() || is_of_kernel(tree, *offset));
            functions.extend(found.and_then(|(function, ..)| function));
            is_known
        }
        None => {
            for place in places.by_ref() {
                let found = SourceFunction::around(trees.tree(place.tree), place.offset);
                functions.extend(found.filter(|found| !functions.contains(found)));
            }
            true
        }
    };
    // Looking through all of the PTX takes time, and few modules have functions beside their kernels.
    let possible = OnceCell::new();
    let calls = || possible.get_or_init(|| PossibleCalls::new(module));
    // A function that has the object in its own frame, whatever the text calls it.
    let owner = object.key.as_ref().and_then(|key| module.function(&key.function)).filter(|owner| !owner.is_entry);
    let of_owner = owner.and_then(|owner| {
        let find = || leads_to(calls(), owner.instructions.iter(), &BTreeSet::from([&*owner.name]));
        found_once(&known.of_owners, owner.name.to_string(), find)
    });
    let of_function = |function: &SourceFunction<'_>| {
        let key = (Rc::as_ptr(function.tree), function.range.clone());
        found_once(&known.of_source, key, || function.reentry(module, &calls, trees))
    };
    let of_source = functions.iter().filter_map(of_function).min();
    // Of a variable that no function of the text is known to declare, any function may be the one.
    let of_any = || {
        let all = module.functions.iter().filter(|function| !function.is_entry);
        let found = all
            .filter_map(|function| leads_to(calls(), function.instructions.iter(), &BTreeSet::from([&*function.name])));
        found.min()
    };
    let of_any = || *known.of_any.get_or_init(of_any);
    of_owner.into_iter().chain(of_source).min().or_else(|| if is_known { None } else { of_any() })
}

/// The answer for a key, which is looked for where it is not known.
fn found_once<K: Eq + Hash, V: Copy>(known: &RefCell<HashMap<K, V>>, key: K, find: impl FnOnce() -> V) -> V {
    if let Some(found) = known.borrow().get(&key) {
        return *found;
    }
    let found = find();
    known.borrow_mut().insert(key, found);
    found
}

/// How one of the calls leads to one of the functions.
fn leads_to<'m>(
    calls: &PossibleCalls<'m>,
    all: impl Iterator<Item = &'m ptx_syntax::Instruction> + Clone,
    functions: &BTreeSet<&str>,
) -> Option<Reentry> {
    [(false, Reentry::Recursion), (true, Reentry::IndirectCall)].into_iter().find_map(|(through_pointers, kind)| {
        let own = all.clone().filter(|instruction| instruction.opcode() == Opcode::Call);
        let reached = calls.reached_by(own, through_pointers);
        functions.iter().any(|name| reached.contains(name)).then_some(kind)
    })
}

/// A function or lambda in the text, other than a kernel's own body.
struct SourceFunction<'t> {
    tree: &'t Rc<SyntaxTree>,
    range: Range<usize>,
    lines: RangeInclusive<u32>,
}

impl PartialEq for SourceFunction<'_> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(self.tree, other.tree) && self.range == other.range
    }
}

impl<'t> SourceFunction<'t> {
    /// The innermost one around an offset; `None` in a kernel, which no function enters.
    fn around(tree: &'t Rc<SyntaxTree>, offset: usize) -> Option<Self> {
        let function = innermost(tree.node_at(offset)?)?;
        if function.kind() == Kind::FunctionDefinition && tree.is_within_kernel(offset) {
            return None;
        }
        let range = function.byte_range();
        let line = |offset: usize| tree.text().get(..offset).map(|before| before.matches('\n').count() + 1);
        let (first, last) = (u32::try_from(line(range.start)?).ok()?, u32::try_from(line(range.end)?).ok()?);
        Some(Self { tree, range, lines: first..=last })
    }

    fn reentry<'m>(
        &self,
        module: &'m PtxModule,
        calls: &dyn Fn() -> &'m PossibleCalls<'m>,
        trees: &SyntaxTrees<'_>,
    ) -> Option<Reentry> {
        let holding: Vec<(&PtxFunction, Vec<bool>)> = module
            .functions
            .iter()
            .map(|function| (function, self.locations_within(module, function, trees)))
            .filter(|(_, within)| within.contains(&true))
            .collect();
        if holding.iter().any(|(function, within)| self.is_within_itself(module, function, within, trees)) {
            return Some(Reentry::Recursion);
        }
        let apart = holding.iter().filter(|(function, _)| !function.is_entry);
        let names: BTreeSet<&str> = apart.map(|(function, _)| &*function.name).collect();
        if names.is_empty() {
            return None;
        }
        let found = holding.iter().filter_map(|(function, within)| {
            // A call without a location may be anywhere.
            let is_within = |location: Option<u32>| {
                location.is_none_or(|number| within.get(number as usize).copied().unwrap_or(true))
            };
            let all = function.instructions.iter().filter(|instruction| is_within(instruction.location));
            leads_to(calls(), all, &names)
        });
        found.min()
    }

    /// For each location of a PTX function, whether it is in this function or in code that is inlined into it.
    fn locations_within(&self, module: &PtxModule, function: &PtxFunction, trees: &SyntaxTrees<'_>) -> Vec<bool> {
        let mut within: Vec<bool> = Vec::with_capacity(function.locations.len());
        for location in &function.locations {
            let outer = location.inlined_at.and_then(|number| within.get(number)).copied().unwrap_or(false);
            within.push(outer || self.has(module, location, trees));
        }
        within
    }

    /// Whether the function is inlined into itself.
    fn is_within_itself(
        &self,
        module: &PtxModule,
        function: &PtxFunction,
        within: &[bool],
        trees: &SyntaxTrees<'_>,
    ) -> bool {
        let inlined = function.locations.iter().enumerate().filter(|(_, location)| {
            let outer = location.inlined_at.and_then(|number| within.get(number)).copied().unwrap_or(false);
            outer && self.has(module, location, trees)
        });
        inlined.into_iter().any(|(number, location)| {
            let chain = function.location_chain(number);
            let name = |location: &nv_code::Location| {
                location.function.clone().or_else(|| location.inlined_at.is_none().then(|| function.name.clone()))
            };
            let outer = chain.iter().skip(1).filter(|outer| self.has(module, outer, trees));
            outer.into_iter().any(|outer| name(outer) == name(location))
        })
    }

    /// Whether a location is in the function's own text.
    fn has(&self, module: &PtxModule, location: &nv_code::Location, trees: &SyntaxTrees<'_>) -> bool {
        if !self.tree.has_line_marks() && !self.lines.contains(&location.line) {
            return false;
        }
        let Some(path) = module.files.get(&location.file).filter(|_| location.line > 0) else { return false };
        let Some((tree, line)) = trees.locate(path, location.line) else { return false };
        if !Rc::ptr_eq(trees.tree(tree), self.tree) || !self.lines.contains(&line) {
            return false;
        }
        // Without its place in the line, the line must do.
        let Some(offset) = self.tree.offset(line, location.column) else { return true };
        let around = self.tree.node_at(offset).and_then(innermost);
        around.is_none_or(|around| around.byte_range() == self.range || self.is_head(offset))
    }

    /// Whether an offset is on the line on which the function begins, where a line table without columns may point.
    fn is_head(&self, offset: usize) -> bool {
        self.range.contains(&offset) && !self.tree.text()[self.range.start..offset].contains('\n')
    }
}

/// The innermost function or lambda around a node.
fn innermost(node: Node<'_>) -> Option<Node<'_>> {
    let mut next = Some(node);
    while let Some(node) = next {
        if matches!(node.kind(), Kind::FunctionDefinition | Kind::LambdaExpression) {
            return Some(node);
        }
        next = node.parent();
    }
    None
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;
    use cuda_syntax::tree::DeclarationKind;
    use lmem_base::source::{SourceFile, Span};

    use super::*;
    use crate::frame::StackObjectKind;
    use crate::objects::tests::access;
    use crate::place::places;
    use crate::symbolize::name::Variable;

    /// `walk` is inlined into the kernel, and has a copy of its own that `nested` calls.
    const TEXT: &str = "__device__ int walk(int (*visit)(int), int n) {
  int row[8];
  return row[n] + visit(n);
}
__device__ int nested(int n) {
  return walk(nested, n);
}
__global__ void k(int *out, int n) {
  int own[8];
  out[0] = walk(nested, n) + own[n];
}
";

    const PTX: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"FILE\"\n\
        .func nested()\n{\n.reg .b64 %rd<2>;\n.loc 1 6 3\nmov.u64 %rd1, nested;\ncall.uni walk, ();\nret;\n}\n\
        .func walk()\n{\n.reg .b64 %rd<2>;\nprototype_0 : .callprototype ()_ ();\n.loc 1 3 3\ncall %rd1, (), prototype_0;\nret;\n}\n\
        .visible .entry k()\n{\n.reg .b64 %rd<2>;\nprototype_0 : .callprototype ()_ ();\n.loc 1 10 3\nmov.u32 %r1, 0;\n\
        .loc 1 3 3, function_name $L__info_string0, inlined_at 1 10 3\ncall %rd1, (), prototype_0;\nret;\n}\n\
        .section .debug_str\n{\n$L__info_string0:\n.b8 119,97,108,107,0\n}\n";

    fn variable(name: &str, span: Span) -> Variable {
        Variable {
            name: name.to_string(),
            type_text: "int[8]".to_string(),
            kind: DeclarationKind::Array,
            is_parameter: false,
            volatility: None,
            initializer: None,
            bytes: Some(32),
            span,
            sharing: Vec::new(),
            members: Vec::new(),
        }
    }

    /// What is said of a variable, by its declaration, or of one without a name where the kernel accesses it.
    fn of(ptx: &str, declaration: Option<&str>) -> Option<Reentry> {
        let example = Example::new(TEXT);
        let trees = example.trees();
        let facts =
            UnitFacts { ptx: PtxModule::parse(&ptx.replace("FILE", Example::NAME)).unwrap(), ..UnitFacts::default() };
        let function = facts.ptx.function("k").unwrap();
        let mut object = FrameObject::new(StackObjectKind::Variable, 32);
        let mut inlined = access();
        inlined.places = places(&trees, &facts.ptx, function, function.instructions[1].location);
        object.accesses = vec![inlined];
        object.variable = declaration.map(|name| {
            let tree = trees.tree(object.accesses[0].places.first().unwrap().tree);
            let start = TEXT.find(&format!("int {name}[")).unwrap() + 4;
            variable(name, tree.span(start..start + name.len()).unwrap())
        });
        reentry(&object, &facts, &trees, &KnownReentries::default())
    }

    #[test]
    fn a_function_that_is_inlined_is_entered_again_through_a_pointer() {
        assert_eq!(of(PTX, Some("row")), Some(Reentry::IndirectCall));
        assert_eq!(of(PTX, None), Some(Reentry::IndirectCall));
    }

    #[test]
    fn kernels_are_not_entered_again() {
        assert_eq!(of(PTX, Some("own")), None);
    }

    #[test]
    fn other_functions_may_be_called_through_pointers() {
        let apart = PTX.replace("call.uni walk, ();\n", "");
        assert_eq!(of(&apart, Some("row")), None);
        let no_address = PTX.replace("mov.u64 %rd1, nested;\n", "");
        assert_eq!(of(&no_address, Some("row")), None);
        let seen = no_address.replace(".func nested", ".visible .func nested");
        assert_eq!(of(&seen, Some("row")), Some(Reentry::IndirectCall));
    }

    #[test]
    fn recursion_by_name_is_told_apart() {
        let direct = PTX.replace("call %rd1, (), prototype_0;", "call.uni nested, ();");
        assert_eq!(of(&direct, Some("row")), Some(Reentry::Recursion));
    }

    #[test]
    fn a_declaration_elsewhere_is_no_excuse() {
        let example = Example::new(TEXT);
        let trees = example.trees();
        let facts =
            UnitFacts { ptx: PtxModule::parse(&PTX.replace("FILE", Example::NAME)).unwrap(), ..UnitFacts::default() };
        let mut object = FrameObject::new(StackObjectKind::Variable, 32);
        object.variable = Some(variable("row", Span::new(&SourceFile::from_text("b.cu", "row"), 0..3)));
        assert_eq!(reentry(&object, &facts, &trees, &KnownReentries::default()), Some(Reentry::IndirectCall));
    }
}
