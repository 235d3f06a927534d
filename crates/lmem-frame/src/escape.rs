//! Escape analysis: addresses that leave their function, and which objects a callee's parameters point to.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use cuda_syntax::SyntaxTrees;
use nv_code::dataflow::{Call, Flow, Root, callee, registers};
use nv_code::{PtxFunction, PtxModule};
use ptx_syntax::{AddressBase, Instruction, Modifier, Opcode, Operand, Reg, Type};

use super::access::{Escape, EscapeKind, ObjectKey, PRINT, RawObject, key};
use crate::place::places;

/// The functions that `roots` call directly or transitively, by name, including the roots.
pub fn reachable<'a, 'n>(module: &'a PtxModule, roots: impl Iterator<Item = &'n str>) -> Vec<&'a PtxFunction> {
    let mut found: Vec<&PtxFunction> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = roots.map(str::to_string).collect();
    while let Some(name) = open.pop() {
        let Some(function) = module.function(&name) else { continue };
        if *name != *function.name && seen.contains(&*function.name) || !seen.insert(name) {
            continue;
        }
        found.push(function);
        open.extend(function.instructions.iter().filter_map(callee).map(str::to_string));
    }
    found
}

/// Whether a kernel may call a function: directly, through others, or by an indirect call on the way. ptxas copies a
/// function into the section of each kernel that has its address, such as in the vtable of an object that it makes.
pub fn may_call(module: &PtxModule, kernel: &str, function: &str) -> bool {
    let reached = reachable(module, std::iter::once(kernel));
    let name = module.function(function).map_or(function, |function| &*function.name);
    let calls_indirectly = |reached: &&PtxFunction| {
        let mut all = reached.instructions.iter();
        all.any(|instruction| instruction.opcode() == Opcode::Call && callee(instruction).is_none())
    };
    // Nothing is known of a kernel without PTX.
    reached.is_empty() || reached.iter().any(|reached| *reached.name == *name || calls_indirectly(reached))
}

/// The callers of each function, with their arguments.
pub struct CallSites {
    /// Callee → callers with their calls.
    sites: HashMap<String, Vec<(String, Call)>>,
    /// By function and parameter number: the objects that callers pass.
    passed: RefCell<HashMap<(String, usize), Owners>>,
}

/// Objects that an address may point into.
type Owners = Rc<BTreeSet<ObjectKey>>;

impl CallSites {
    pub fn new(flows: &HashMap<&str, Flow<'_>>) -> Self {
        let mut names: Vec<&&str> = flows.keys().collect();
        names.sort();
        let mut sites: HashMap<String, Vec<(String, Call)>> = HashMap::new();
        for name in names {
            for call in flows[*name].calls() {
                if let Some(callee) = call.callee.clone() {
                    sites.entry(callee).or_default().push(((*name).to_string(), call.clone()));
                }
            }
        }
        Self { sites, passed: RefCell::default() }
    }
}

impl CallSites {
    /// Callers of a function by name, with the calls.
    pub fn of(&self, callee: &str) -> &[(String, Call)] {
        self.sites.get(callee).map_or(&[], Vec::as_slice)
    }
}

/// The objects behind the roots of an address: a callee's parameter stands for the objects that its callers pass.
pub fn owners(
    flow: &Flow<'_>,
    roots: &BTreeSet<Root>,
    calls: &CallSites,
    flows: &HashMap<&str, Flow<'_>>,
) -> BTreeSet<ObjectKey> {
    let mut found: BTreeSet<ObjectKey> = roots.iter().filter_map(|root| key(flow, root)).collect();
    for root in roots {
        if let Root::Parameter(number) = root {
            found.extend(calls.passed(&flow.function.name, *number, flows).iter().cloned());
        }
    }
    found
}

impl CallSites {
    /// The objects that a parameter may point to. Each parameter is visited once, as functions may be recursive or call
    /// each other on many paths.
    fn passed(&self, function: &str, number: usize, flows: &HashMap<&str, Flow<'_>>) -> Owners {
        let first = (function.to_string(), number);
        if let Some(known) = self.passed.borrow().get(&first) {
            return Rc::clone(known);
        }
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![first.clone()];
        while let Some((function, number)) = open.pop() {
            if !seen.insert((function.clone(), number)) {
                continue;
            }
            for (caller, call) in self.of(&function) {
                let argument = call.arguments.get(number).copied().flatten();
                let (Some(caller), Some(argument)) = (flows.get(caller.as_str()), argument) else { continue };
                for root in &caller.register_pointer(argument, call.instruction).roots {
                    match root {
                        Root::Parameter(number) => open.push((caller.function.name.to_string(), *number)),
                        root => found.extend(key(caller, root)),
                    }
                }
            }
        }
        let found = Rc::new(found);
        self.passed.borrow_mut().insert(first, Rc::clone(&found));
        found
    }
}

/// Start offsets of objects: all constant offsets from a local variable that some address uses.
pub fn object_starts(flow: &Flow<'_>) -> BTreeSet<(usize, u64)> {
    let mut starts = BTreeSet::new();
    for (at, instruction) in flow.function.instructions.iter().enumerate() {
        // `add.u64 %rd1, %SPL, 16` is the compiler's form for the address of an object.
        let [Operand::Reg(register), base @ Operand::Reg(_), ..] = &*instruction.operands else { continue };
        if instruction.opcode() == Opcode::Add && flow.is_frame_pointer(base) {
            starts.extend(local_roots(&flow.register_pointer(*register, at + 1).roots));
        }
    }
    starts.extend((0..flow.function.local_variables.len()).map(|variable| (variable, 0)));
    starts
}

fn local_roots(roots: &BTreeSet<Root>) -> impl Iterator<Item = (usize, u64)> {
    roots.iter().filter_map(|root| match root {
        Root::Local { variable, offset } => Some((*variable, *offset)),
        _ => None,
    })
}

/// Finds the places where addresses of objects escape, in the kernel and all its callees.
pub fn gather(
    module: &PtxModule,
    flows: &HashMap<&str, Flow<'_>>,
    calls: &CallSites,
    trees: &SyntaxTrees<'_>,
    objects: &mut BTreeMap<ObjectKey, RawObject>,
) {
    let mut names: Vec<&&str> = flows.keys().collect();
    names.sort();
    let buffers = print_buffers(flows);
    for name in names {
        let flow = &flows[*name];
        // A function without local variables may still pass on a pointer that it received; the call sites lead to the
        // objects of its callers.
        for Leaving { register, at, kind, location, argument } in leaving(flow) {
            let roots = flow.register_pointer(register, at).roots;
            let kind = match kind {
                EscapeKind::Stored if is_into(&buffers, flow, at) => EscapeKind::Printed,
                kind => kind,
            };
            for key in owners(flow, &roots, calls, flows) {
                let places = places(trees, module, flow.function, location);
                let span = places.first().and_then(|place| place.span(trees));
                let key_function = key.function.clone();
                let object = objects.entry(key).or_default();
                let is_external = matches!(&kind, EscapeKind::Call(name) if module.function(name).is_none());
                let is_own = *key_function == *flow.function.name;
                let escape = Escape { kind: kind.clone(), argument, places, span, is_external, is_own };
                if !object.escapes.iter().any(|known| known.kind == escape.kind && known.span == escape.span) {
                    object.escapes.push(escape);
                }
            }
        }
    }
    own_first(objects);
}

/// The objects that functions pass to `printf` as its arguments.
fn print_buffers(flows: &HashMap<&str, Flow<'_>>) -> BTreeSet<ObjectKey> {
    let mut found = BTreeSet::new();
    for flow in flows.values() {
        let is_print = |call: &&Call| call.callee.as_deref() == Some(PRINT);
        for call in flow.calls().iter().filter(is_print) {
            let arguments = call.arguments.iter().flatten();
            let roots = arguments.flat_map(|argument| flow.register_pointer(*argument, call.instruction).roots);
            found.extend(roots.filter_map(|root| key(flow, &root)));
        }
    }
    found
}

/// Whether a store goes into such an object, and nowhere else.
fn is_into(buffers: &BTreeSet<ObjectKey>, flow: &Flow<'_>, store: usize) -> bool {
    let Some(address) = flow.function.instructions[store].address() else { return false };
    let roots = flow.pointer(address, store).roots;
    !roots.is_empty() && roots.iter().all(|root| key(flow, root).is_some_and(|key| buffers.contains(&key)))
}

/// Orders the escapes in the function that owns the object first; an address passed to others may escape again there.
fn own_first(objects: &mut BTreeMap<ObjectKey, RawObject>) {
    objects.values_mut().for_each(|object| object.escapes.sort_by_key(|escape| !escape.is_own));
}

/// A register whose value escapes from its function.
struct Leaving {
    register: Reg,
    /// The instruction that lets it escape.
    at: usize,
    kind: EscapeKind,
    location: Option<u32>,
    /// For an argument of a call: its number, and the number of arguments.
    argument: Option<(usize, usize)>,
}

fn leaving(flow: &Flow<'_>) -> Vec<Leaving> {
    let mut found = Vec::new();
    for call in flow.calls() {
        let at = call.instruction;
        let location = flow.function.instructions[at].location;
        let kind = call.callee.clone().map_or(EscapeKind::IndirectCall, EscapeKind::Call);
        let count = call.arguments.len();
        // The source names the structure, not the targets of its members.
        let is_structure = |index: usize| call.members.iter().any(|(number, _)| *number == index);
        let members = call.members.iter().map(|(_, register)| *register);
        found.extend(members.map(|register| Leaving { register, at, kind: kind.clone(), location, argument: None }));
        found.extend(call.arguments.iter().enumerate().filter_map(|(index, register)| {
            let register = register.filter(|_| !is_structure(index))?;
            Some(Leaving { register, at, kind: kind.clone(), location, argument: Some((index, count)) })
        }));
    }
    let all = flow.function.instructions.iter().enumerate();
    found.extend(all.flat_map(|(at, instruction)| leaving_through(at, instruction)));
    found
}

/// Stores of addresses, and accesses that may go to any memory.
fn leaving_through(at: usize, instruction: &Instruction) -> Vec<Leaving> {
    if instruction.has(Modifier::Param) {
        return Vec::new();
    }
    let is_wide = matches!(instruction.form.ty(), Some(Type::B64 | Type::U64 | Type::S64 | Type::F64));
    let (operands, kind): (Vec<Reg>, EscapeKind) = match instruction.opcode() {
        Opcode::St if is_wide => {
            (instruction.operands.get(1).into_iter().flat_map(registers).collect(), EscapeKind::Stored)
        }
        _ if instruction.is_local_access() => return Vec::new(),
        _ => match instruction.address().map(|address| &address.base) {
            Some(AddressBase::Reg(base)) => (vec![*base], EscapeKind::Generic(instruction.form.text.to_string())),
            _ => return Vec::new(),
        },
    };
    let location = instruction.location;
    operands
        .into_iter()
        .map(|register| Leaving { register, at, kind: kind.clone(), location, argument: None })
        .collect()
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;

    use super::*;

    /// A kernel with an object of 32 bytes whose address is in `%rd1`, and functions that it may call.
    fn module(body: &str, functions: &str) -> PtxModule {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func outside (.param .b64 p);\n{functions}\n\
             .visible .entry k(\n.param .u64 k_param_0\n)\n{{\n.local .align 16 .b8 __local_depot0[32];\n\
             mov.u64 %SPL, __local_depot0;\ncvta.local.u64 %SP, %SPL;\nadd.u64 %rd1, %SP, 0;\nadd.u64 %rd2, %SPL, 0;\n\
             {body}\nret;\n}}\n"
        );
        PtxModule::parse(&text).unwrap()
    }

    fn call(name: &str) -> String {
        format!("{{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\ncall.uni {name}, (param0);\n}}")
    }

    /// The escapes of objects, by owner: `k:0` is the object at the start of the kernel's depot.
    fn escapes(body: &str, functions: &str) -> Vec<(String, Vec<EscapeKind>)> {
        let module = module(body, functions);
        let reached = reachable(&module, std::iter::once("k"));
        let flows: HashMap<&str, Flow<'_>> =
            reached.iter().map(|function| (&*function.name, Flow::new(function))).collect();
        let example = Example::new("");
        let mut objects = BTreeMap::new();
        gather(&module, &flows, &CallSites::new(&flows), &example.trees(), &mut objects);
        let kinds = |object: &RawObject| object.escapes.iter().map(|escape| escape.kind.clone()).collect();
        objects.iter().map(|(key, object)| (format!("{}:{}", key.function, key.offset), kinds(object))).collect()
    }

    fn of_kernel(kinds: Vec<EscapeKind>) -> Vec<(String, Vec<EscapeKind>)> {
        vec![("k:0".to_string(), kinds)]
    }

    #[test]
    fn an_argument_of_a_call_leaves() {
        assert_eq!(escapes(&call("outside"), ""), of_kernel(vec![EscapeKind::Call("outside".into())]));
        let indirect = "{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\ncall (), %rd9, (param0), prototype_0;\n}";
        assert_eq!(escapes(indirect, ""), of_kernel(vec![EscapeKind::IndirectCall]));
    }

    #[test]
    fn an_address_that_is_stored_leaves_and_a_value_that_is_stored_does_not() {
        assert_eq!(escapes("st.global.u64 [%rd9], %rd1;", ""), of_kernel(vec![EscapeKind::Stored]));
        assert_eq!(escapes("st.local.u32 [%rd2], %r1;\nld.local.u32 %r2, [%rd2];", ""), []);
        // 32 bits cannot hold an address.
        assert_eq!(escapes("cvt.u32.u64 %r1, %rd1;\nst.global.u32 [%rd9], %r1;", ""), []);
    }

    #[test]
    fn instructions_on_any_memory_are_named() {
        let found = escapes("ld.u32 %r1, [%rd1];", "");
        assert_eq!(found, of_kernel(vec![EscapeKind::Generic("ld.u32".into())]));
    }

    #[test]
    fn what_a_callee_hands_on_counts_for_the_object_of_the_caller() {
        let inner = "\n.func inner(\n.param .b64 inner_param_0\n)\n{\nld.param.u64 %rd1, [inner_param_0];\n\
                     st.global.u64 [%rd9], %rd1;\nret;\n}\n";
        let kinds = vec![EscapeKind::Call("inner".into()), EscapeKind::Stored];
        assert_eq!(escapes(&call("inner"), inner), of_kernel(kinds));
    }

    #[test]
    fn functions_that_call_themselves_are_followed_once() {
        let own = "\n.func inner(\n.param .b64 inner_param_0\n)\n{\nld.param.u64 %rd1, [inner_param_0];\n\
                   {\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\ncall.uni inner, (param0);\n}\nret;\n}\n";
        assert_eq!(escapes(&call("inner"), own), of_kernel(vec![EscapeKind::Call("inner".into())]));
    }

    #[test]
    fn only_what_is_called_is_reached() {
        let functions = "\n.func used()\n{\nret;\n}\n.func unused()\n{\ncall.uni used;\nret;\n}\n";
        let module = module("call.uni used;", functions);
        let names: Vec<&str> =
            reachable(&module, std::iter::once("k")).iter().map(|function| &*function.name).collect();
        assert_eq!(names, ["k", "used"]);
    }

    #[test]
    fn a_kernel_that_only_has_an_address_calls_nothing() {
        let functions = "\n.func method()\n{\nret;\n}\n.func inner()\n{\ncall (), %rd9, (), prototype_0;\nret;\n}\n";
        let may_call = |body: &str| may_call(&module(body, functions), "k", "method");
        assert!(may_call("call.uni method;"));
        assert!(may_call("call (), %rd9, (), prototype_0;"));
        assert!(may_call("call.uni inner;"));
        assert!(!may_call("mov.u64 %rd9, method;\nst.global.u64 [%rd8], %rd9;"));
    }

    #[test]
    fn objects_start_where_addresses_are_made() {
        let module = module("add.u64 %rd3, %SPL, 16;\nadd.u64 %rd4, %rd3, 4;", "");
        let flow = Flow::new(module.function("k").unwrap());
        assert_eq!(object_starts(&flow), BTreeSet::from([(0, 0), (0, 16)]));
    }
}
